import { performance } from "node:perf_hooks";
import { Pool } from "undici";
import { InfraDevError } from "../lib/contract/errors";

export interface Load {
  /** Responses per second. */
  rate: number;
  /** Bytes of a body as sent. */
  bytes: number;
}

/**
 * Asks one address of a server on this machine again and again, over kept-alive connections, as a browser that takes
 * gzip, until `requests` were answered or `maxMs` are over. Throws `bench.not-loopback` for any other machine and
 * `bench.bad-answer` for anything but a 200 of the same size.
 */
export async function load(url: URL, bounds: { connections: number; requests: number; maxMs: number }): Promise<Load> {
  if (url.hostname !== "127.0.0.1")
    throw new InfraDevError("forbidden", {
      code: "bench.not-loopback",
      message: `${url.hostname} is another machine`,
      where: url.href,
      rule: "load is made on this machine only",
      remedy: "name a site on 127.0.0.1",
    });
  const pool = new Pool(url.origin, { connections: bounds.connections, pipelining: 1 });
  try {
    let left = bounds.requests;
    let answered = 0;
    let bytes: number | null = null;
    const startedMs = performance.now();
    const ask = async () => {
      while (left-- > 0 && performance.now() - startedMs < bounds.maxMs) {
        const size = await bodyBytes(pool, url);
        bytes ??= size;
        if (size !== bytes) throw badAnswer(url, `bodies of ${bytes} and of ${size} bytes`);
        answered++;
      }
    };
    await Promise.all(Array.from({ length: bounds.connections }, ask));
    return { rate: (1000 * answered) / (performance.now() - startedMs), bytes: bytes ?? 0 };
  } finally {
    await pool.close();
  }
}

async function bodyBytes(pool: Pool, url: URL): Promise<number> {
  const { statusCode, body } = await pool.request({
    path: url.pathname + url.search,
    method: "GET",
    headers: { "accept-encoding": "gzip", accept: "*/*" },
  });
  let bytes = 0;
  for await (const chunk of body) bytes += (chunk as Buffer).length;
  if (statusCode !== 200) throw badAnswer(url, `status ${statusCode}`);
  return bytes;
}

const badAnswer = (url: URL, message: string) =>
  new InfraDevError("internal", {
    code: "bench.bad-answer",
    message,
    where: url.href,
    rule: "every answer is a 200 of the same size",
    remedy: "look into the site's log",
  });
