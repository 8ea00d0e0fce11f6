import { join, resolve } from "node:path";
import type { Command } from "commander";
import { bundleLimits } from "@/lib/contract/bundle";
import { InfraDevError } from "@/lib/contract/errors";
import { uploadAnnouncementText } from "@/lib/contract/upload";
import { toBase64, utf8 } from "@/lib/evidence/bytes";
import { digestFile } from "@/lib/evidence/node/bundle-writer";
import { loadPrivateKey } from "@/lib/evidence/node/key-file";
import { defaultBackoff, TransientError, withRetry } from "../attach/retry";
import { parseServerUrl, ServerApi } from "../attach/server-api";
import { uploadFile } from "../attach/upload";
import { requireFile } from "../input-file";
import { exitCodes, formatBytes } from "../terminal/output";
import { atServer, isRefusedPort } from "../terminal/unreachable";
import { defaultDataDir } from "./doctor";
import { runCommand } from "./run-command";

type UploadOptions = { server: string; key: string; json?: boolean };

/** How long it tries to reach a server that has not answered yet, and to go on with one that has. */
const firstContactMs = 30_000;
const interruptionMs = 10 * 60_000;

/** `runner upload`: exit 0 where the server accepted the bundle, 1 where it refused it. */
export function registerUpload(program: Command): void {
  program
    .command("upload <bundle>")
    .description("send a self-made bundle to a server, signed by a registered vendor key; goes on where it broke off")
    .requiredOption("--server <url>", "the server")
    .option("--key <file>", "the registered key (PKCS#8 PEM)", join(defaultDataDir, "key.pem"))
    .option("--json", "one JSON document on stdout")
    .action((bundle: string, options: UploadOptions) =>
      runCommand(options, async (output, signal) => {
        const path = resolve(bundle);
        const api = new ServerApi(parseServerUrl(options.server), null);
        const signer = await loadPrivateKey(resolve(options.key));
        const form = {
          code: "usage.bundle",
          rule: "a bundle is a file that grade wrote (<grading id>.infradev.tar.gz)",
          remedy: "name the file that grade ended with",
        };
        const { size } = await requireFile(path, form);
        if (size === 0) throw new InfraDevError("invalid", { ...form, message: "the file is empty", where: path });
        if (size > bundleLimits.packedBytes) {
          throw new InfraDevError("too-large", {
            code: "archive.packed-size",
            message: `the bundle has ${formatBytes(size)}`,
            where: path,
            rule: `a bundle has at most ${formatBytes(bundleLimits.packedBytes)}`,
            remedy: "grade again with shorter output",
          });
        }
        const { sha256, size: bytes } = await digestFile(path);
        const signature = toBase64(await signer.sign(utf8(uploadAnnouncementText({ sha256, bytes }))));
        // A server that never answered is likelier misspelt than restarting.
        let giveUpAt = Date.now() + firstContactMs;
        const retry = {
          backoff: defaultBackoff,
          signal,
          deadline: () => giveUpAt,
          onRetry: (error: Error, waitMs: number) =>
            output.status(
              `${error.message}; trying again in ${Math.ceil(waitMs / 1000)} s, until ${new Date(giveUpAt).toLocaleTimeString()}`,
            ),
        };
        try {
          let id = "";
          await uploadFile(
            api,
            async () => {
              const answer = await api
                .announceSelfMade({ sha256, bytes, keyid: signer.keyid, signature })
                .catch(atServer(api.server));
              id = answer.id;
              giveUpAt = Date.now() + interruptionMs;
              return { ...answer, resource: `/api/v1/uploads/${encodeURIComponent(answer.id)}` };
            },
            path,
            { ...retry, onProgress: (sent) => output.status(`sent ${formatBytes(sent)} of ${formatBytes(bytes)}`) },
          );
          const answer = await withRetry(() => api.finishSelfMade(id), retry);
          output.line(`accepted as ${answer.tier}: grading ${answer.gradingId}`);
          output.line(`${api.server.origin}/submissions/${answer.submissionId}`);
          output.line(
            "unlisted, and open to more tasks of the same candidate, until a maintainer publishes it: " +
              `npm run admin -- submission publish ${answer.submissionId}`,
          );
          output.result(answer);
          return exitCodes.ok;
        } catch (error) {
          if (!(error instanceof InfraDevError) || error instanceof TransientError || isRefusedPort(error)) {
            return atServer(api.server)(error);
          }
          output.line(error.describe());
          output.result({ error: error.problem });
          return exitCodes.failed;
        }
      }),
    );
}
