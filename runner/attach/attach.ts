import { rename } from "node:fs/promises";
import { InfraDevError } from "@/lib/contract/errors";
import type { ClaimRequest } from "@/lib/contract/job";
import { protocol } from "@/lib/contract/job";
import type { HostFacts } from "@/lib/contract/result";
import { toBase64, utf8 } from "@/lib/evidence/bytes";
import type { Signer } from "@/lib/evidence/keys";
import { loadSigningKey, publicKeyPath } from "../signing-key";
import { runnerVersion } from "../version";
import { type JobContext, type JobEnd, recoverJobs, runJob } from "./job";
import { defaultBackoff, sleep, withRetry } from "./retry";
import { ServerApi } from "./server-api";
import type { Registration, RunnerData } from "./state";

export type RegisterOptions = { server: URL; token: string | null; name: string; host: HostFacts };

/**
 * The registration of this data folder with a server: the one that stands there, or a new one that spends the token.
 * The key is made on this host and never leaves it.
 */
export async function ensureRegistered(
  data: RunnerData,
  options: RegisterOptions,
): Promise<{ registration: Registration; signer: Signer }> {
  const existing = await data.findRegistration();
  if (existing !== null && new URL(existing.server).origin === options.server.origin) {
    return { registration: existing, signer: await loadSigningKey(data.keyPath) };
  }
  if (existing !== null) {
    throw new InfraDevError("conflict", {
      code: "attach.other-server",
      message: `this data folder is registered with ${existing.server}`,
      where: data.dir,
      rule: "one registration per data folder",
      remedy: "give another folder with --data",
    });
  }
  if (options.token === null) {
    throw new InfraDevError("invalid", {
      code: "attach.token-missing",
      message: "this host is not registered yet",
      where: data.dir,
      rule: "the first start needs a one-time token",
      remedy: "get one from the server's operator (npm run admin -- token mint) and pass it with --token",
    });
  }
  const api = new ServerApi(options.server, null);
  let signer = await loadSigningKey(data.keyPath);
  const { token } = options;
  const register = async () =>
    api.register({
      token,
      name: options.name,
      spki: toBase64(signer.spki),
      proof: toBase64(await signer.sign(utf8(token))),
      runnerVersion,
      host: options.host,
    });
  const answer = await register().catch(async (error: unknown) => {
    if (!(error instanceof InfraDevError && error.code === "runner.key-taken")) throw error;
    const aside = `${data.keyPath}.${signer.keyid.slice(0, 12)}`;
    // The public half first: where this ends between the two, it is written anew beside its key.
    await rename(publicKeyPath(data.keyPath), publicKeyPath(aside));
    await rename(data.keyPath, aside);
    signer = await loadSigningKey(data.keyPath);
    return register();
  });
  const registration: Registration = {
    format: "infradev-runner/1",
    server: options.server.origin,
    name: options.name,
    hostId: answer.hostId,
    keyid: answer.keyid,
    credential: answer.credential,
    serverKey: answer.server,
  };
  await data.recordRegistration(registration);
  return { registration, signer };
}

export type ServeOptions = {
  /** `once`: one job, then end. `drain`: until no job is offered. `serve`: until stopped. */
  mode: "once" | "drain" | "serve";
  parallel: number;
  /** What this host offers at this moment; asked before each claim. */
  capacity: () => Promise<Omit<ClaimRequest, "waitSeconds" | "runnerVersion">>;
  claimWaitSeconds?: number;
};

/**
 * Serves jobs: first what an earlier process left, then claim after claim, up to `parallel` at a time. Gives every
 * job's end. Ends early when `context.stop` aborts, after what runs has been given back.
 */
export async function serveJobs(context: JobContext, options: ServeOptions): Promise<JobEnd[]> {
  const ends = await recoverJobs(context);
  const waitSeconds = options.mode === "serve" ? (options.claimWaitSeconds ?? protocol.claimWaitSeconds) : 1;
  let taken = 0;
  const worker = async (): Promise<void> => {
    while (!context.stop.aborted) {
      if (options.mode === "once" && taken > 0) return;
      const job = await claimNext(context, { ...(await options.capacity()), waitSeconds, runnerVersion });
      if (job === "stopped") return;
      if (job === null) {
        if (options.mode === "drain") return;
        continue;
      }
      taken += 1;
      try {
        ends.push(await runJob(context, job));
      } catch (error) {
        if (!(error instanceof InfraDevError)) throw error;
        context.say(error.describe());
        await sleep(5000, context.stop).catch(() => undefined);
      }
    }
  };
  const count = options.mode === "once" ? 1 : options.parallel;
  await Promise.all(Array.from({ length: count }, worker));
  return ends;
}

async function claimNext(context: JobContext, request: ClaimRequest) {
  try {
    return await withRetry(() => context.api.claim(request, context.stop), {
      backoff: context.backoff ?? defaultBackoff,
      signal: context.stop,
      onRetry: (error, waitMs) => context.say(`${error.message}; trying again in ${Math.round(waitMs / 1000)} s`),
    });
  } catch (error) {
    if (context.stop.aborted) return "stopped" as const;
    throw error;
  }
}
