import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { TransientError } from "./retry";
import { ServerApi } from "./server-api";

let server: Server;
let api: ServerApi;
let headersFirst: boolean;
beforeEach(async () => {
  server = createServer((_, response) => {
    if (headersFirst) response.writeHead(200).write("{");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  api = new ServerApi(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), null);
});
afterEach(async () => {
  vi.useRealTimers();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it.each([
  ["does not answer", false],
  ["begins an answer only", true],
])("gives a server up that %s, as something that may pass", async (_, begins) => {
  headersFirst = begins;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const asked = new Promise((resolve) => server.once("request", resolve));
  const failed = api.fetchPatch("lease").catch((error: unknown) => error);
  await asked;
  await vi.advanceTimersByTimeAsync(60_000);
  const error = await failed;
  expect(error).toBeInstanceOf(TransientError);
  expect(String(error)).toContain("not done within 60000 ms");
});
