import { Command } from "commander";
import { InfraDevError } from "../lib/contract/errors";
import { startEmbedded, stopEmbedded } from "./embedded";
import { migrateDatabase } from "./migrate";
import { seedDatabase } from "./seed/seed";
import { dataDirectory, findDatabaseUrl, readEmbeddedAddress } from "./settings";

const program = new Command("db").description("The database: the embedded server, migrations, the published data");

program
  .command("start")
  .description("start the embedded Postgres in the background, or find it running; prints its URL")
  .action(async () => {
    const server = await startEmbedded({ dataDir: dataDirectory() });
    console.log(`${server.startedHere ? "started" : "already running"} (pid ${server.pid}): ${server.url}`);
  });
program
  .command("stop")
  .description("stop the embedded Postgres")
  .action(async () => {
    console.log((await stopEmbedded(dataDirectory())) ? "stopped" : "it was not running");
  });
program
  .command("status")
  .description("say whether the embedded Postgres runs; exit code 1 when it does not")
  .action(() => {
    const address = readEmbeddedAddress(dataDirectory());
    console.log(address ? `running (pid ${address.pid}): ${address.url}` : "not running");
    process.exitCode = address ? 0 : 1;
  });
program
  .command("migrate")
  .description("bring the database to the newest migration")
  .action(async () => {
    await migrateDatabase(findDatabaseUrl());
    console.log("the database is at the newest migration");
  });
program
  .command("seed")
  .description("write the published figures, the reported rows and the taxonomy; changes nothing the second time")
  .action(async () => {
    const { reportedRows, figures } = await seedDatabase(findDatabaseUrl());
    console.log(`${reportedRows} reported rows and ${figures} published figures are in the database`);
  });

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof InfraDevError)) throw error;
  console.error(error.describe());
  process.exitCode = 2;
}
