import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../db/embedded";
import { ensurePython } from "../runner/grading/python-runtime";
import { repositoryRoot } from "./stack";

/** Everything that this file makes lies below; what a demo leaves running is recognised by this path, with its space. */
const work = mkdtempSync(join(tmpdir(), "infradev machines-"));
const demo = ["--import", "tsx", "e2e/demo/main.ts"];
const mounted: string[] = [];
const servers: Server[] = [];
let python: string;
let count = 0;

beforeAll(async () => {
  python = (await ensurePython()).executable;
});

afterAll(async () => {
  for (const server of servers) await new Promise((settle) => server.close(settle));
  for (const folder of mounted) spawnSync("umount", ["-l", folder]);
  rmSync(work, { recursive: true, force: true });
});

const folder = (name: string): string => {
  const path = join(work, `${count++}-${name}`);
  mkdirSync(path);
  return path;
};

/** A folder for PATH with links to all programs of this machine but some, and scripts in their place. */
function machine(without: RegExp, scripts: Record<string, string> = {}): string {
  const path = folder("bin");
  for (const place of [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin", "/bin"])
    for (const name of existsSync(place) ? readdirSync(place) : [])
      if (!without.test(name) && !existsSync(join(path, name))) {
        try {
          symlinkSync(join(place, name), join(path, name));
        } catch (error) {
          // A link that leads nowhere does not "exist", and is there.
          if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
        }
      }
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(path, name), text.replaceAll("$SELF", join(path, name)));
    chmodSync(join(path, name), 0o755);
  }
  return path;
}

const anyPython = /^(python|pytest|py\.test|pip|pyenv)/;

/** Pids of the demos that have ended. */
const endedPids: number[] = [];

interface Started {
  child: ChildProcess;
  ended: Promise<{ code: number | null; output: string }>;
  /** Waits until the program has said something that matches; what it said. */
  said(text: RegExp): Promise<string>;
}

function start(
  command: string,
  args: string[],
  env: Record<string, string | undefined>,
  cwd = repositoryRoot,
): Started {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  let over = false;
  const ended = new Promise<{ code: number | null; output: string }>((settle) =>
    child.once("close", (code) => {
      over = true;
      settle({ code, output });
    }),
  );
  return {
    child,
    ended,
    said: async (text) => {
      for (;;) {
        const found = text.exec(output);
        if (found) return found[1] ?? found[0];
        if (over) throw new Error(`it ended without saying ${text}:\n${output}`);
        await sleep(50);
      }
    },
  };
}

/** Starts a demo on a machine; its data folder and temporary folder lie in `work` unless named. */
function startDemo(
  env: { INFRADEV_DATA_DIR?: string; [name: string]: string | undefined },
  args: string[] = ["--exit"],
): Started & { dataDir: string } {
  const dataDir = env["INFRADEV_DATA_DIR"] ?? join(folder("data"), "data");
  const begun = start(process.execPath, [...demo, ...args], {
    INFRADEV_PYTHON: python,
    TMPDIR: folder("tmp"),
    ...env,
    INFRADEV_DATA_DIR: dataDir,
  });
  void begun.ended.then(() => endedPids.push(begun.child.pid ?? 0));
  return { ...begun, dataDir };
}

/** Processes that name a folder in their command line or their environment. */
function processesOf(path: string): string[] {
  const found: string[] = [];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    try {
      const text = readFileSync(`/proc/${pid}/cmdline`, "utf8") + readFileSync(`/proc/${pid}/environ`, "utf8");
      if (text.includes(path))
        found.push(`${pid} ${readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")}`);
    } catch {
      // It has ended.
    }
  }
  return found;
}

/** After a demo ended: nothing of it runs, and nobody holds its folder. */
function expectNothingLeft(dataDir: string): void {
  expect(processesOf(dataDir)).toEqual([]);
  for (const lock of ["demo.json", "postgres/start.lock", "postgres/address.json", "postgres/cluster/postmaster.pid"])
    expect(existsSync(join(dataDir, lock)), lock).toBe(false);
  expect(existsSync(join(repositoryRoot, ".next-build.lock"))).toBe(false);
  expect(endedPids.filter((pid) => existsSync(join(repositoryRoot, `.next-site-${pid}`)))).toEqual([]);
}

async function listen(port: number): Promise<void> {
  const server = createServer();
  await new Promise<void>((settle) => {
    server.once("error", () => settle());
    server.listen(port, "127.0.0.1", () => {
      servers.push(server);
      settle();
    });
  });
}

/** A file system of its own, or null where this user may not mount one. */
function mountTmpfs(options: string): string | null {
  const path = folder("mount");
  if (spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path]).status !== 0) return null;
  mounted.push(path);
  return path;
}
const mayMount = mountTmpfs("size=1m") !== null;
const isRoot = process.getuid?.() === 0;

interface Refusal {
  env?: () => Record<string, string> | Promise<Record<string, string>>;
  args?: () => string[] | Promise<string[]>;
  code: string;
  where: () => string;
  remedy: RegExp;
}

let port = 0;
let bin = "";
let place = "";
const fakeOld = () => `#!${python}
import sys
code = sys.argv[sys.argv.index("-c") + 1]
sys.version_info = (3, 9, 18, "final", 0)
exec(code)
`;
const fakeWithoutVenv = `#!/bin/sh
case "$*" in
*"-c "*) echo '{"version": [3, 12, 1], "pytest": null, "torch": null, "executable": "$SELF", "folders": []}' ;;
*) echo 'The virtual environment was not created successfully because ensurepip is not available.'; exit 1 ;;
esac
`;

/** On a machine that lacks something, the demo ends before it starts anything, and says what to do. */
const refusals: Record<string, Refusal & { needsMount?: true }> = {
  "no Python": {
    env: () => ({ INFRADEV_PYTHON: "", PATH: machine(anyPython) }),
    code: "python.missing",
    where: () => "PATH",
    remedy: /install Python 3\.10 or newer/,
  },
  "a Python older than 3.10": {
    env: () => {
      bin = machine(anyPython, { python3: fakeOld() });
      return { INFRADEV_PYTHON: "", PATH: bin };
    },
    code: "python.too-old",
    where: () => join(bin, "python3"),
    remedy: /INFRADEV_PYTHON.*install/,
  },
  "no pytest and a package index that cannot be reached": {
    env: async () => {
      const bare = join(folder("bare"), "venv");
      execFileSync(python, ["-m", "venv", "--without-pip", bare]);
      place = join(bare, "bin", "python");
      bin = machine(anyPython, { python3: `#!/bin/sh\nexec "${place}" "$@"\n` });
      const index = `http://127.0.0.1:${await freePort()}/simple`;
      const pip = { PIP_CONFIG_FILE: "/dev/null", PIP_FIND_LINKS: "", PIP_EXTRA_INDEX_URL: "", PIP_RETRIES: "0" };
      return { INFRADEV_PYTHON: "", PATH: bin, ...pip, PIP_INDEX_URL: index };
    },
    code: "python.install",
    where: () => place,
    remedy: /package index .*apt install python3-pytest.*INFRADEV_PYTHON/,
  },
  "no pytest and no venv module": {
    env: () => {
      bin = machine(anyPython, { python3: fakeWithoutVenv });
      return { INFRADEV_PYTHON: "", PATH: bin };
    },
    code: "python.no-venv",
    where: () => join(bin, "python3"),
    remedy: /apt install python3-venv/,
  },
  "no git": {
    env: () => ({ PATH: machine(/^git/) }),
    code: "host.git",
    where: () => "this machine",
    remedy: /install git 2\.30/,
  },
  "no bubblewrap, asked for by name": {
    env: () => ({ PATH: machine(/^bwrap$/) }),
    args: () => ["--executor", "bwrap"],
    code: "executor.bwrap-unavailable",
    where: () => "executor 'bwrap'",
    remedy: /apt install bubblewrap/,
  },
  "a bubblewrap that may not make namespaces, asked for by name": {
    env: () => ({
      PATH: machine(/^bwrap$/, {
        bwrap: "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n",
      }),
    }),
    args: () => ["--executor", "bwrap"],
    code: "executor.bwrap-unavailable",
    where: () => "executor 'bwrap'",
    remedy: /unprivileged_userns_clone/,
  },
  "a port that another program holds, asked for by name": {
    args: async () => {
      port = await freePort();
      await listen(port);
      return ["--port", String(port)];
    },
    code: "site.port-busy",
    where: () => `127.0.0.1:${port}`,
    remedy: /choose another port with --port/,
  },
  "a database that does not answer": {
    env: async () => ({ DATABASE_URL: `postgres://someone:secret@127.0.0.1:${await freePort()}/x` }),
    code: "demo.database-unreachable",
    where: () => "DATABASE_URL",
    remedy: /unset it/,
  },
  "a read-only data folder": {
    needsMount: true,
    env: () => {
      place = join(mountTmpfs("ro,size=1m") ?? "", "data");
      return { INFRADEV_DATA_DIR: place };
    },
    code: "demo.folder-not-writable",
    where: () => place,
    remedy: /INFRADEV_DATA_DIR/,
  },
  "a full disk": {
    needsMount: true,
    env: () => {
      place = join(mountTmpfs("size=4m") ?? "", "data");
      return { INFRADEV_DATA_DIR: place };
    },
    code: "demo.disk-full",
    where: () => place,
    remedy: /free some space.*INFRADEV_DATA_DIR/,
  },
  "a full temporary folder": {
    needsMount: true,
    env: () => {
      place = mountTmpfs("size=64k") ?? "";
      writeFileSync(join(place, "filler"), Buffer.alloc(48 * 1024));
      return { TMPDIR: place };
    },
    code: "host.disk",
    where: () => place,
    remedy: /TMPDIR/,
  },
};

const onLinux = process.platform === "linux";

describe.skipIf(!onLinux)("a demo on a machine with", () => {
  for (const [name, refusal] of Object.entries(refusals))
    it.skipIf(refusal.needsMount && !mayMount)(
      `${name} ends with ${refusal.code}${refusal.needsMount ? " (needs the right to mount)" : ""}`,
      async () => {
        const env = (await refusal.env?.()) ?? {};
        const { ended, dataDir } = startDemo(env, ["--exit", ...((await refusal.args?.()) ?? [])]);
        const { code, output } = await ended;
        expect(output).toContain(`[${refusal.code}]`);
        const where = /where: {2}(.*)/.exec(output)?.[1] ?? "";
        expect(where).toBe(refusal.where());
        expect(/rule: {3}(.*)/.exec(output)?.[1]).toBeTruthy();
        expect(/remedy: (.*)/.exec(output)?.[1]).toMatch(refusal.remedy);
        expect(output).not.toContain("secret");
        expect(output).not.toMatch(/^\s+at /m);
        expect(code).toBe(2);
        expectNothingLeft(dataDir);
        // Nothing was begun: no cluster, no environment of Python, no suite.
        const made = existsSync(dataDir) ? readdirSync(dataDir) : [];
        expect(made.filter((each) => each !== "logs" && each !== "runner")).toEqual([]);
      },
    );

  it.skipIf(!(isRoot && mayMount))(
    "sources in a read-only folder ends with demo.folder-not-writable (needs the right to mount)",
    async () => {
      const dataDir = join(folder("data"), "data");
      const inside = `mount --bind ${repositoryRoot} ${repositoryRoot} && mount -o remount,bind,ro ${repositoryRoot} && cd ${repositoryRoot} && exec "$@"`;
      const { ended } = start("unshare", ["--mount", "sh", "-ec", inside, "sh", process.execPath, ...demo, "--exit"], {
        INFRADEV_DATA_DIR: dataDir,
      });
      const { code, output } = await ended;
      expect(output).toContain("[demo.folder-not-writable]");
      expect(output).toContain(`where:  ${repositoryRoot.replace(/\/$/, "")}`);
      expect(output).toContain("clone the repository to another folder");
      expect(code).toBe(2);
      expectNothingLeft(dataDir);
    },
  );

  it.skipIf(!(isRoot && mayMount))(
    "a disk that becomes full while it runs ends with the reason (needs the right to mount)",
    async () => {
      const disk = mountTmpfs("size=1200m") ?? "";
      const dataDir = join(disk, "data");
      const { ended, said } = startDemo({ INFRADEV_DATA_DIR: dataDir });
      await said(/database ready/);
      const usedKiB = execFileSync("df", ["--output=used", disk], { encoding: "utf8" }).split("\n")[1]?.trim();
      execFileSync("mount", ["-o", `remount,size=${usedKiB}k`, disk]);
      const { code, output } = await ended;
      expect(output).toMatch(/\[(demo|database)\.disk-full\]/);
      expect(output).toContain("free some space");
      expect(code).toBe(2);
      expect(processesOf(dataDir)).toEqual([]);
      execFileSync("mount", ["-o", "remount,size=1200m", disk]);
      // With space again, what stands there is taken up.
      const again = startDemo({ INFRADEV_DATA_DIR: dataDir });
      await again.said(/packed and imported/);
      again.child.kill("SIGTERM");
      expect((await again.ended).code).toBe(143);
      expectNothingLeft(dataDir);
    },
  );
});

describe.skipIf(!onLinux)("demos", () => {
  it("run two at once, on other ports than a busy one; a second one of a folder finds the first; the killed is taken over", async () => {
    await listen(3000);
    const first = startDemo({ PATH: machine(/^bwrap$/) }, []);
    const second = startDemo({}, []);
    const [firstUrl, secondUrl] = await Promise.all([
      first.said(/site is up at (\S+)/),
      second.said(/site is up at (\S+)/),
    ]);
    expect(new Set([firstUrl, secondUrl, "http://127.0.0.1:3000"]).size).toBe(3);
    for (const url of [firstUrl, secondUrl]) expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await first.said(/port 3000 is in use; taking \d+/);

    // Without a sandbox the first grades all the same, and says what that is worth.
    await first.said(/no sandbox: bubblewrap is not installed/);
    await first.said(/rows are 'signed', never 'verified'/);
    await first.said(/for 'verified': install it \(.*apt install bubblewrap\)/);
    await first.said(/executor process/);
    await second.said(/executor bwrap|no sandbox:/);

    for (const [args, exitCode] of [
      [["--exit"], 1],
      [[], 0],
    ] as const) {
      const { code, output } = await startDemo({ INFRADEV_DATA_DIR: second.dataDir }, [...args]).ended;
      expect(output).toContain(`already running (pid ${second.child.pid}): ${secondUrl} [demo.already-running]`);
      expect(output).toContain("INFRADEV_DATA_DIR");
      expect(code).toBe(exitCode);
    }
    expect((await fetch(`${secondUrl}/healthz`)).status).toBe(200);

    first.child.kill("SIGTERM");
    expect((await first.ended).code).toBe(143);
    expectNothingLeft(first.dataDir);

    second.child.kill("SIGKILL");
    await second.ended;
    expect(processesOf(second.dataDir).join("\n")).toContain("next-server");
    const third = startDemo({ INFRADEV_DATA_DIR: second.dataDir }, []);
    await third.said(/site is up at (\S+)/);
    third.child.kill("SIGINT");
    expect((await third.ended).code).toBe(130);
    expectNothingLeft(second.dataDir);
  });

  it("that are interrupted while their database starts leave none behind", async () => {
    const { child, ended, said, dataDir } = startDemo({});
    await said(/starting Postgres/);
    child.kill("SIGTERM");
    expect((await ended).code).toBe(143);
    expectNothingLeft(dataDir);
  });
});

describe("the set-up of a clone without packages", () => {
  const clone = (at = folder("clone")): string => {
    mkdirSync(join(at, ".ci"), { recursive: true });
    copyFileSync(join(repositoryRoot, ".ci/setup.mjs"), join(at, ".ci/setup.mjs"));
    copyFileSync(join(repositoryRoot, "package-lock.json"), join(at, "package-lock.json"));
    return at;
  };
  const setUp = (at: string, env: Record<string, string> = {}, options: string[] = []) =>
    start(process.execPath, [...options, ".ci/setup.mjs", "--grading"], env, at).ended;
  const expectRefusal = (ended: { code: number | null; output: string }, code: string, at: string, remedy: RegExp) => {
    expect(ended.output).toContain(`[${code}]`);
    expect(/where: {2}(.*)/.exec(ended.output)?.[1]?.replace(/\/$/, "")).toBe(at);
    expect(/remedy: (.*)/.exec(ended.output)?.[1]).toMatch(remedy);
    expect(ended.output).not.toMatch(/^\s+at /m);
    expect(ended.code).toBe(2);
  };

  it("refuses a Node that is too old", async () => {
    const older = 'Object.defineProperty(process.versions, "node", { value: "18.20.4" })';
    const ended = await setUp(clone(), {}, ["--import", `data:text/javascript,${encodeURIComponent(older)}`]);
    expectRefusal(ended, "setup.old-node", process.execPath, /nodejs\.org/);
  });

  it("says so where there is no npm, and where npm fails; the next run tries again", async () => {
    const at = clone();
    expectRefusal(await setUp(at, { PATH: machine(/^(npm|npx)$/) }), "setup.no-npm", "PATH", /install npm/);
    const failing = machine(/^npm$/, { npm: '#!/bin/sh\n[ "$1" = --version ] || { echo unreachable >&2; exit 7; }\n' });
    for (let tries = 0; tries < 2; tries++) {
      const ended = await setUp(at, { PATH: failing });
      expectRefusal(ended, "setup.npm-failed", at, /registry/);
      expect(ended.output).toContain("unreachable");
      expect(existsSync(join(at, ".data/setup.lock"))).toBe(false);
    }
  });

  it("waits for another one of the same folder, and not for one that was killed", async () => {
    const at = clone();
    // The first one's npm goes on only when the other has said that it waits.
    const slow = machine(/^npm$/, {
      npm: '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho run >> runs\nwhile [ ! -e go ]; do sleep 0.1; done\nmkdir -p node_modules\n',
    });
    mkdirSync(join(at, ".data"));
    writeFileSync(join(at, ".data/setup.lock"), "4194305");
    const setUps = [0, 1].map(() => start(process.execPath, [".ci/setup.mjs", "--grading"], { PATH: slow }, at));
    await Promise.race(setUps.map(({ said }) => said(/installs the packages of this folder; waiting/)));
    writeFileSync(join(at, "go"), "");
    const both = await Promise.all(setUps.map(({ ended }) => ended));
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(readFileSync(join(at, "runs"), "utf8")).toBe("run\n");
    expect(existsSync(join(at, ".data/setup.lock"))).toBe(false);
  });

  it.skipIf(!mayMount)("refuses a read-only folder and a full disk (needs the right to mount)", async () => {
    const at = clone(mountTmpfs("size=4m") ?? "");
    expectRefusal(await setUp(at), "setup.disk-full", at, /free some space/);
    execFileSync("mount", ["-o", "remount,ro", at]);
    expectRefusal(await setUp(at), "setup.folder-not-writable", at, /another folder/);
    expect(existsSync(join(at, "node_modules"))).toBe(false);
  });

  it("goes on without bubblewrap, which the demo does without, and says how to get it", async () => {
    const at = clone();
    const path = machine(/^(bwrap|apt-get|npm)$/, { npm: "#!/bin/sh\nmkdir -p node_modules\n" });
    const { code, output } = await setUp(at, { PATH: path });
    expect(output).toContain("bubblewrap missing");
    expect(output).toContain("apt-get install -y --no-install-recommends bubblewrap");
    expect(code).toBe(0);
  });
});
