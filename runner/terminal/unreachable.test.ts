import { expect, it } from "vitest";
import { TransientError } from "../attach/retry";
import { ServerApi } from "../attach/server-api";
import { atServer } from "./unreachable";

const announcement = { sha256: "a".repeat(64), bytes: 1, keyid: "b".repeat(64), signature: "" };
const ask = (address: string) => {
  const server = new URL(address);
  return new ServerApi(server, null).announceSelfMade(announcement).catch(atServer(server));
};

it("names the server, and a port that fetch refuses as wrong use, which repeating does not mend", async () => {
  const refused = await ask("http://127.0.0.1:9/").catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: "usage.server-port",
    problem: { where: "http://127.0.0.1:9/", rule: expect.stringContaining("fetch refuses") },
  });
  expect(refused).not.toBeInstanceOf(TransientError);
});

it("names the server that does not answer, which may pass", async () => {
  const silent = await ask("http://127.0.0.1:8/").catch((error: unknown) => error);
  expect(silent).toBeInstanceOf(TransientError);
  expect(silent).toMatchObject({ problem: { where: "http://127.0.0.1:8/" } });
});
