import { expect, it } from "vitest";
import type { LaunchRequest } from "./executor";
import { closeWithin, startLaunchProcess } from "./launch-process";

const request: LaunchRequest = {
  nproc: 1,
  launcher: "pytest",
  mounts: [],
  cwd: "/",
  searchPath: [],
  args: [],
  env: {},
  openings: ["{}"],
  memoryMb: null,
  shmMb: 1,
  gpus: null,
  outputBytes: 1000,
  handlers: { onEventLine: () => undefined, onControl: () => undefined, onOverflow: () => undefined },
};
const start = (script: string) =>
  startLaunchProcess(request, {
    program: "/bin/sh",
    args: ["-c", script],
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    detached: true,
    limits: { dataBytes: null, processes: null },
    privateNetwork: false,
  });

it("is not waited for without end where something that cannot be ended holds its streams", async () => {
  const launched = await start("echo said >&5; sleep 20 & exit 0");
  await new Promise((resolve) => launched.child.once("exit", resolve));
  const begun = performance.now();
  const ended = await closeWithin(launched, 300);
  expect(performance.now() - begun).toBeLessThan(5_000);
  expect(ended.clean).toBe(false);
  expect(ended.outputs[0]?.stdout.toString()).toBe("said\n");
  process.kill(-(launched.child.pid ?? 0), "SIGKILL");
});

it("is clean where its streams are closed", async () => {
  const launched = await start("echo said >&5");
  await new Promise((resolve) => launched.child.once("exit", resolve));
  expect(await closeWithin(launched, 5_000)).toMatchObject({ clean: true });
});
