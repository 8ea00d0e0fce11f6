import { chmod, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const pythonDir = join(here, "python");

/**
 * Puts the texts of the Python programs, and the sandbox's accounts, into the bundle, in place of the two modules that read them from the
 * repository: sources.ts gives a text, python-folder.ts a folder, which the bundle writes when it starts and removes
 * when it ends.
 */
const embedPython: Plugin = {
  name: "embed-python",
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^embedded-python$/ }, () => ({ path: "embedded-python", namespace: "embedded" }));
    onLoad({ filter: /^embedded-python$/, namespace: "embedded" }, async () => {
      const names = (await readdir(pythonDir)).filter((name) => /^(.*\.py|passwd|group)$/.test(name)).sort();
      const texts = await Promise.all(names.map((name) => readFile(join(pythonDir, name), "utf8")));
      const entries = Object.fromEntries(names.map((name, index) => [name, texts[index]]));
      return { contents: `export const texts = ${JSON.stringify(entries)};`, loader: "js" };
    });
    onLoad({ filter: /[\\/]runner[\\/]python[\\/]sources\.ts$/ }, () => ({
      contents: `
        import { texts } from "embedded-python";
        export function pythonSource(name) {
          const text = texts[name];
          if (text === undefined) throw new Error("the bundle carries no " + name);
          return text;
        }`,
      loader: "js",
    }));
    onLoad({ filter: /[\\/]runner[\\/]executors[\\/]python-folder\.ts$/ }, () => ({
      resolveDir: join(here, "executors"),
      contents: `
        import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
        import { tmpdir } from "node:os";
        import { join } from "node:path";
        import { texts } from "embedded-python";
        import { processOwner } from "../processes/owner";
        export const launcherFolder = mkdtempSync(join(tmpdir(), "infradev-python-" + processOwner + "-"));
        process.on("exit", () => rmSync(launcherFolder, { recursive: true, force: true }));
        for (const [name, text] of Object.entries(texts)) writeFileSync(join(launcherFolder, name), text, { mode: 0o644 });`,
      loader: "js",
    }));
  },
};

const out = join(here, "../dist/runner.mjs");
await mkdir(dirname(out), { recursive: true });
await build({
  entryPoints: [join(here, "cli.ts")],
  outfile: out,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  alias: { "@": join(here, "..") },
  // CommonJS dependencies call `require` for Node's own modules.
  banner: {
    js: 'import { createRequire as makeRequire } from "node:module";\nconst require = makeRequire(import.meta.url);',
  },
  legalComments: "inline",
  plugins: [embedPython],
  logLevel: "warning",
});
await chmod(out, 0o755);
console.log(`${out}: ${((await stat(out)).size / 1024).toFixed(0)} KiB`);
