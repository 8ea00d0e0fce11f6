import { createHash } from "node:crypto";
import { resourceUsage, stdout } from "node:process";
import { gzipMember } from "./gzip-format";
import { blockBytes, encodeHeader, paddingOf } from "./tar-format";
import { verifyBundle } from "./verify-bundle";

/** Run as a program of its own: reads one generated archive and prints its peak memory. */

const mode = process.argv[2] ?? "small";
const size = mode === "small" ? 1024 : 1023 * 1024 * 1024 - 4096;
const chunk = 64 * 1024;

let unpacked = 0;

async function* tar() {
  yield encodeHeader("payload/large.log", size);
  // shrinks about fiftyfold as `large`, about a thousandfold as `bomb`
  const block = new Uint8Array(chunk);
  if (mode !== "bomb")
    block.set(
      createHash("shake256", { outputLength: chunk / 64 })
        .update("seed")
        .digest(),
    );
  for (let left = size; left > 0; left -= chunk) {
    block[0] = (left / chunk) & 0xff;
    unpacked += Math.min(left, chunk);
    yield block.slice(0, Math.min(left, chunk));
  }
  yield new Uint8Array(paddingOf(size));
  yield new Uint8Array(2 * blockBytes);
}

const report = await verifyBundle(
  gzipMember(tar(), "dense", () => undefined),
  { keys: [] },
);
const [refusal] = report.checks.flatMap(({ problems }) => problems);
const outcome = report.archive ? "read" : refusal?.code;
stdout.write(JSON.stringify({ maxRssKb: resourceUsage().maxRSS, outcome, unpacked }));
