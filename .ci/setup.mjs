// Plain Node, since it runs before anything is installed. Brings what a command needs:
//   node .ci/setup.mjs [--grading] [--browser]
// npm packages always; --grading: git, Python, pytest, bubblewrap; --browser: Chromium. As root it installs Debian's
// packages through apt. What grading lacks after that is only said, since the demo looks at the machine itself and does
// without a sandbox; the tests do not, so with --browser it is an error. Exit code 2: something is missing.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const wants = new Set(process.argv.slice(2));
const say = (text) => console.log(`setup: ${text}`);
const run = (command, args, options = {}) => spawnSync(command, args, { cwd: root, stdio: "inherit", ...options });
const has = (command, args = ["--version"]) => spawnSync(command, args, { stdio: "ignore" }).status === 0;

/** Says what is missing as the project's other errors do, and ends. */
function fail({ code, message, where, rule, remedy }) {
  console.error(`${message} [${code}]\n  where:  ${where}\n  rule:   ${rule}\n  remedy: ${remedy}`);
  process.exit(2);
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    fail({
      code: "setup.old-node",
      message: `this is Node ${process.versions.node}`,
      where: process.execPath,
      rule: "Node 20.19 or newer is needed",
      remedy: "install a current Node (https://nodejs.org), then run the command again",
    });
}

const neededBytes = 1024 ** 3;

/** Before npm removes the old packages: can new ones be written? */
function checkFolder() {
  const probe = join(root, `.next-write-${process.pid}`);
  let reason = null;
  try {
    fs.writeFileSync(probe, "x");
  } catch (error) {
    reason = error.code;
  }
  try {
    fs.rmSync(probe, { force: true });
  } catch {
    // A folder that cannot be written holds nothing of ours.
  }
  const disk = fs.statfsSync(root);
  const freeBytes = disk.bavail * disk.bsize;
  if (reason !== null && reason !== "ENOSPC" && reason !== "EDQUOT")
    fail({
      code: "setup.folder-not-writable",
      message: `nothing can be written here (${reason})`,
      where: root,
      rule: "npm packages are installed beside the sources",
      remedy: "make the folder writable for this user, or clone the repository to another folder",
    });
  if (reason !== null || freeBytes < neededBytes)
    fail({
      code: "setup.disk-full",
      message: `only ${Math.floor(freeBytes / 1024 ** 2)} MiB are free`,
      where: root,
      rule: "the npm packages and the build need 1 GiB",
      remedy: "free some space, or clone the repository to a folder on another disk",
    });
}

/** Two installations at once would remove each other's packages: the second waits for the first. */
function lockInstallation() {
  const file = join(root, ".data", "setup.lock");
  fs.mkdirSync(join(root, ".data"), { recursive: true });
  let told = false;
  for (let waits = 0; ; waits++) {
    try {
      fs.writeFileSync(file, String(process.pid), { flag: "wx" });
      return () => fs.rmSync(file, { force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const text = readOr(file, "");
    const holder = Number(text);
    // A file without a number was made this instant, or left by a process that was killed then.
    if (holder > 0 ? !isAlive(holder) : waits > 20) removeStale(file, text);
    else {
      // Not only in the first round: that one may have gone to removing a stale lock which another process then took.
      if (!told) say(`another process (${holder || "just started"}) installs the packages of this folder; waiting`);
      told = true;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
    }
  }
}

/** Removes a lock that was judged stale, unless another process has taken it over in between. */
function removeStale(file, judged) {
  const aside = `${file}.${process.pid}`;
  try {
    fs.renameSync(file, aside);
  } catch (error) {
    if (error.code === "ENOENT") return;
    throw error;
  }
  if (readOr(aside, "") === judged) fs.rmSync(aside, { force: true });
  else fs.renameSync(aside, file);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function readOr(file, otherwise) {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return otherwise;
  }
}

function installPackages() {
  const stamp = join(root, "node_modules", ".infradev-lock");
  const digest = createHash("sha256")
    .update(fs.readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  const current = () => readOr(stamp, "") === digest;
  if (current()) return;
  checkFolder();
  if (!has("npm"))
    fail({
      code: "setup.no-npm",
      message: "there is no npm",
      where: "PATH",
      rule: "npm installs the packages that this repository names",
      remedy: "install npm (it comes with Node from https://nodejs.org), then run the command again",
    });
  const release = lockInstallation();
  process.on("exit", release);
  if (current()) return;
  say("installing npm packages (npm ci, about 40 s)");
  const install = run("npm", [
    "ci",
    "--include=dev",
    "--include=optional",
    "--no-fund",
    "--no-audit",
    "--loglevel=error",
  ]);
  if (install.status !== 0)
    fail({
      code: "setup.npm-failed",
      message: install.signal ? `npm ci was ended by ${install.signal}` : `npm ci ended with code ${install.status}`,
      where: root,
      rule: "the packages of package-lock.json must be installed",
      remedy: "mend what npm says above (it needs the npm registry and 1 GiB of space), then run the command again",
    });
  fs.writeFileSync(stamp, digest);
  release();
}

/** Installs Debian's packages where this user may; true where they are there then. */
function aptInstall(packages) {
  if (process.platform === "win32" || process.getuid() !== 0 || !has("apt-get")) return false;
  say(`installing ${packages.join(", ")} through apt`);
  const apt = (...args) =>
    run("apt-get", [...args], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      stdio: ["ignore", "ignore", "inherit"],
    }).status === 0;
  const install = () => apt("install", "-y", "-qq", "--no-install-recommends", ...packages);
  return install() || (apt("update", "-qq") && install());
}

function bring(packages, why, required) {
  if (aptInstall(packages)) return;
  const remedy = `on Debian or Ubuntu: sudo apt-get install -y --no-install-recommends ${packages.join(" ")}`;
  if (!required) return say(`${packages.join(", ")} missing: ${why} (${remedy})`);
  fail({
    code: "setup.missing",
    message: `${packages.join(", ")} missing`,
    where: "PATH",
    rule: why,
    remedy: `install them; ${remedy}`,
  });
}

checkNode();
installPackages();
const forTests = wants.has("--browser");
if (wants.has("--grading")) {
  if (!has("git")) bring(["git"], "the runner makes checkouts with git", forTests);
  if (process.platform === "linux" && !has("bwrap"))
    bring(["bubblewrap"], "grading in a sandbox needs bubblewrap", forTests);
  const python = process.env.INFRADEV_PYTHON || "python3";
  if (!has(python))
    bring(["python3", "python3-venv", "python3-pytest"], "the tests of tasks run under pytest", forTests);
  // Where apt cannot bring it, the runner installs pytest with pip.
  else if (!has(python, ["-m", "pytest", "--version"])) aptInstall(["python3-venv", "python3-pytest"]);
}
if (forTests) {
  if (!process.env.INFRADEV_CHROMIUM && !has("/usr/bin/chromium"))
    bring(
      ["chromium"],
      "the site's tests run in /usr/bin/chromium, or in the browser that INFRADEV_CHROMIUM names",
      true,
    );
  const byHand = ["jq", "openssl"].filter((name) => !has(name, [name === "openssl" ? "version" : "--version"]));
  if (byHand.length > 0) bring(byHand, "the commands that check a bundle by hand are tested", true);
}
