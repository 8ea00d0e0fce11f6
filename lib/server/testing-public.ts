import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { seedDatabase } from "@/db/seed/seed";
import { syntheticTrajectory } from "@/lib/trajectory/testing";
import { addTestHost, gradeOne, startTestServer, submitGold, type TestServer } from "./testing";
import { keepTrajectory, takeTrajectory } from "./trajectories";

type Handler = (request: Request, context: { params: Promise<Record<string, string | string[]>> }) => Promise<Response>;

/** What a test of the public interface asks: the published figures, and one submission of which a task is graded. */
export interface PublicSite {
  server: TestServer;
  submissionId: string;
  gradingId: string;
  /** The attempt that is graded; it has a trajectory. */
  attemptId: string;
  /** The task that is graded. */
  task: string;
  close(): Promise<void>;
}

const shared = globalThis as { infradevContext?: Promise<unknown>; infradevDatabase?: unknown };

export async function startPublicSite(serverUrl: string): Promise<PublicSite> {
  const server = await startTestServer(serverUrl, { tasks: 2 });
  shared.infradevContext = Promise.resolve(server);
  shared.infradevDatabase = server.database;
  await seedDatabase(server.testDatabase.url);
  const submissionId = await submitGold(server);
  const { job } = await gradeOne(server, await addTestHost(server));
  const document = await server.blobs.put(Buffer.from(JSON.stringify(syntheticTrajectory())));
  const taken = await takeTrajectory(server, document, "synthetic.json");
  await server.database.sql.begin((tx) => keepTrajectory(tx, job.attemptId, taken));
  return {
    server,
    submissionId,
    gradingId: job.gradingId,
    attemptId: job.attemptId,
    task: job.task.slug,
    close: async () => {
      delete shared.infradevContext;
      delete shared.infradevDatabase;
      await server.close();
    },
  };
}

const app = fileURLToPath(new URL("../../app", import.meta.url));

/** Every route file below a folder of `app`, by its address with `{name}` for what varies. */
export async function routesBelow(folder: string): Promise<Map<string, Record<string, unknown>>> {
  const files = readdirSync(join(app, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /(^|\/)route\.ts$/.test(name))
    .sort();
  const routes = new Map<string, Record<string, unknown>>();
  for (const file of files) {
    const address = `/${folder}/${file.replace(/\/?route\.ts$/, "")}`.replaceAll(
      /\[{1,2}(?:\.\.\.)?(\w+)\]{1,2}/g,
      "{$1}",
    );
    routes.set(address, await import(/* @vite-ignore */ pathToFileURL(join(app, folder, file)).href));
  }
  return routes;
}

/** Asks a route as Next does: decoded path parameters, `path` in its segments. */
export function ask(
  route: Record<string, unknown> | undefined,
  address: string,
  params: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const handler = route?.["GET"];
  if (typeof handler !== "function") throw new Error(`${address} has no route`);
  const given = Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, name === "path" ? value.split("/") : value]),
  );
  return (handler as Handler)(new Request(`http://bench.test${address}`, { headers }), {
    params: Promise.resolve(given),
  });
}
