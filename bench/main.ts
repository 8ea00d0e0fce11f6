import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, tmpdir, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Argument, Command, InvalidArgumentError } from "commander";
import { InfraDevError } from "../lib/contract/errors";
import { type Figure, formatFigures } from "./figure";
import { type Session, withSession } from "./session";

/** Takes one group of figures. `repeats` counts the rounds that are kept; `quick` asks for smaller databases. */
type Measure = (session: Session, options: { repeats: number; quick: boolean }) => Promise<Figure[]>;

const rowNames = ["ingest", "launch", "lighthouse", "page", "relabel", "render", "scale"] as const;
type RowName = (typeof rowNames)[number];

/** Each row runs in a process of its own; server code loads under React's server condition only. */
const rows: Record<RowName, { repeats: number; conditions: string[]; load: () => Promise<Measure> }> = {
  ingest: {
    repeats: 24,
    conditions: ["react-server"],
    load: async () => (await import("./ingest")).measureIngest,
  },
  launch: { repeats: 5, conditions: [], load: async () => (await import("./launch")).measureLaunch },
  lighthouse: {
    repeats: 3,
    conditions: ["react-server"],
    load: async () => (await import("./lighthouse")).measureLighthouse,
  },
  page: { repeats: 9, conditions: [], load: async () => (await import("./page")).measurePage },
  relabel: {
    repeats: 3,
    conditions: ["react-server"],
    load: async () => (await import("./relabel")).measureRelabel,
  },
  render: { repeats: 9, conditions: [], load: async () => (await import("./render")).measureRender },
  scale: { repeats: 15, conditions: [], load: async () => (await import("./scale")).measureScale },
};

const parseCount = (text: string): number => {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError("expected a whole number from 1 to 9999");
  return Number(text);
};

/** The row that is being measured; it ends what it started when it gets a signal. */
let running: ChildProcess | null = null;

/** Measures in a fresh process and reads what it wrote. Null where that process failed; it has said why. */
async function measureApart(
  name: RowName,
  { repeats, quick }: { repeats: number; quick: boolean },
  folder: string,
): Promise<Figure[] | null> {
  const out = join(folder, `${name}.json`);
  const child = spawn(
    process.execPath,
    [
      ...rows[name].conditions.map((condition) => `--conditions=${condition}`),
      "--import",
      "tsx",
      fileURLToPath(import.meta.url),
      "measure",
      name,
      "--repeats",
      String(repeats),
      ...(quick ? ["--quick"] : []),
      "--out",
      out,
    ],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  running = child;
  const code = await new Promise<number | null>((settle, refuse) => {
    child.once("error", refuse);
    child.once("exit", settle);
  });
  return code === 0 ? (JSON.parse(await readFile(out, "utf8")) as Figure[]) : null;
}

async function bench(names: RowName[], options: { repeats?: number; quick?: boolean; json?: string }): Promise<void> {
  let interrupted: NodeJS.Signals | null = null;
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => {
      interrupted = signal;
      running?.kill(signal);
    });
  const folder = await mkdtemp(join(tmpdir(), "infradev-bench-"));
  const loadBefore = loadavg()[0];
  const figures: Figure[] = [];
  const failed: RowName[] = [];
  try {
    for (const name of names.length > 0 ? names : rowNames) {
      const measured = await measureApart(
        name,
        { repeats: options.repeats ?? rows[name].repeats, quick: options.quick ?? false },
        folder,
      );
      if (interrupted) break;
      if (measured) figures.push(...measured);
      else failed.push(name);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  if (interrupted) {
    process.exitCode = interrupted === "SIGINT" ? 130 : 143;
    return;
  }
  const report = {
    format: "infradev-bench/1",
    at: new Date().toISOString(),
    machine: {
      cpu: cpus()[0]?.model ?? "unknown",
      cores: availableParallelism(),
      memoryMb: Math.round(totalmem() / 2 ** 20),
      node: process.versions.node,
      loadBefore,
      loadAfter: loadavg()[0],
    },
    figures,
    failed,
  };
  const { cores, loadAfter } = report.machine;
  console.log(formatFigures(figures));
  console.log(`${cores} cores, load ${loadBefore?.toFixed(1)} before and ${loadAfter?.toFixed(1)} after, ${report.at}`);
  if (failed.length > 0) console.log(`could not be measured: ${failed.join(", ")}`);
  if (options.json) await writeFile(resolve(options.json), `${JSON.stringify(report, null, 2)}\n`);
  process.exitCode = failed.length > 0 || figures.some(({ met }) => met === false) ? 1 : 0;
}

const program = new Command("bench")
  .description("Measures speed and size as ratios within one run; exit code 1 when a budget is missed")
  .addArgument(new Argument("[rows...]", "what to measure (default: everything)").choices(rowNames))
  .enablePositionalOptions()
  .option("--repeats <n>", "rounds that are kept, for every row", parseCount)
  .option("--quick", "smaller databases, for a look at the shape of the figures")
  .option("--json <file>", "also write the figures as JSON")
  .action(bench);

program
  .command("measure", { hidden: true })
  .addArgument(new Argument("<row>").choices(rowNames))
  .requiredOption("--repeats <n>", "rounds that are kept", parseCount)
  .option("--quick")
  .requiredOption("--out <file>", "where the figures go")
  .action(async (name: RowName, { out, repeats, quick = false }: { repeats: number; out: string; quick?: boolean }) => {
    const measure = await rows[name].load();
    const figures = await withSession(name, (session) => measure(session, { repeats, quick }));
    await writeFile(out, JSON.stringify(figures));
  });

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof InfraDevError)) throw error;
  console.error(error.describe());
  process.exitCode = 1;
}
