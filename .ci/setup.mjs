// Plain Node, since it runs before anything is installed. Brings what a command needs:
//   node .ci/setup.mjs [--grading] [--browser]
// npm packages always; --grading: Python, pytest, bubblewrap; --browser: Chromium. As root it installs Debian's
// packages through apt; otherwise it says exactly what to install and ends with code 2.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const wants = new Set(process.argv.slice(2));
const say = (text) => console.log(`setup: ${text}`);
const run = (command, args, options = {}) => spawnSync(command, args, { cwd: root, stdio: "inherit", ...options });
const has = (command, args = ["--version"]) => spawnSync(command, args, { stdio: "ignore" }).status === 0;

function fail(message, remedy) {
  console.error(`setup: ${message}\n  remedy: ${remedy}`);
  process.exit(2);
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    fail(
      `this is Node ${process.versions.node}, and 20.19 or newer is needed`,
      "install a current Node (https://nodejs.org), then run the command again",
    );
}

function installPackages() {
  const stamp = join(root, "node_modules", ".infradev-lock");
  const digest = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  say("installing npm packages (npm ci, about 40 s)");
  const install = run("npm", ["ci", "--no-fund", "--no-audit", "--loglevel=error"]);
  if (install.status !== 0)
    fail("npm ci failed", "read npm's message above; the npm registry must be reachable and this folder writable");
  try {
    writeFileSync(stamp, digest);
  } catch (error) {
    fail(`cannot write ${stamp} (${error.code})`, "make the folder writable and free some space");
  }
}

function aptInstall(packages, why) {
  if (process.getuid?.() !== 0 || !has("apt-get"))
    fail(
      `${packages.join(", ")} missing: ${why}`,
      `install them, on Debian or Ubuntu: sudo apt-get install -y --no-install-recommends ${packages.join(" ")}`,
    );
  say(`installing ${packages.join(", ")} through apt (${why})`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const install = () =>
    run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages], {
      env,
      stdio: ["ignore", "ignore", "inherit"],
    });
  if (install().status === 0) return;
  run("apt-get", ["update", "-qq"], { env, stdio: ["ignore", "ignore", "inherit"] });
  if (install().status !== 0)
    fail(
      `apt-get could not install ${packages.join(", ")}`,
      "read apt's message above, mend it, and run the command again",
    );
}

checkNode();
installPackages();
if (wants.has("--grading")) {
  const missing = [];
  if (!has("git")) missing.push("git");
  if (process.platform === "linux" && !has("bwrap")) missing.push("bubblewrap");
  if (!has("python3")) missing.push("python3", "python3-venv", "python3-pytest");
  if (missing.length > 0) aptInstall(missing, "grading runs in a sandbox");
  if (!has("python3", ["-m", "pytest", "--version"]) && process.getuid?.() === 0 && has("apt-get"))
    aptInstall(["python3-venv", "python3-pytest"], "the tests of tasks run under pytest");
}
if (
  wants.has("--browser") &&
  !process.env.INFRADEV_CHROMIUM &&
  !["chromium", "google-chrome", "chromium-browser"].some((name) => has(name))
)
  aptInstall(["chromium"], "the site's tests run in a browser");
