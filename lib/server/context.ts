import "server-only";
import { join } from "node:path";
import { createDatabase, type DatabaseHandle } from "@/db/client";
import { type KeyRow, listKeys, recordKey } from "@/db/queries/hosts";
import { findDatabaseUrl } from "@/db/settings";
import type { PublishedKey } from "@/lib/contract/bundle";
import { toBase64 } from "@/lib/evidence/bytes";
import type { Signer } from "@/lib/evidence/keys";
import { loadOrCreateKey } from "@/lib/evidence/node/key-file";
import { type BlobStore, createFolderBlobStore } from "./blob-store";
import { serverEnv } from "./env";
import { createUploadStore, type UploadStore } from "./upload-store";

/** What the server's parts work with. Tests make their own; the web program has one a process. */
export type ServerContext = {
  database: DatabaseHandle;
  blobs: BlobStore;
  uploads: UploadStore;
  /** Signs jobs, receipts and checkpoints. */
  signer: Signer;
  serverName: string;
  dataDir: string;
  /** Tells this process's page cache that what these tags name has changed, after the transaction has committed. */
  expireTags(tags: readonly string[]): void;
};

export async function createServerContext(options: {
  database: DatabaseHandle;
  dataDir: string;
  serverName: string;
  expireTags?: (tags: readonly string[]) => void;
}): Promise<ServerContext> {
  const signer = await loadOrCreateKey(join(options.dataDir, "keys", "server.pem"));
  await recordKey(options.database.sql, {
    keyid: signer.keyid,
    role: "server",
    owner: options.serverName,
    spki: signer.spki,
    hostId: null,
    organizationId: null,
    validUntil: null,
  });
  return {
    database: options.database,
    blobs: createFolderBlobStore(join(options.dataDir, "blobs")),
    uploads: createUploadStore(join(options.dataDir, "uploads")),
    signer,
    serverName: options.serverName,
    dataDir: options.dataDir,
    expireTags: options.expireTags ?? (() => {}),
  };
}

// Next loads this module once for pages and once for routes; the process has one pool and one context even so.
const shared = globalThis as typeof globalThis & {
  infradevDatabase?: DatabaseHandle;
  infradevContext?: Promise<ServerContext>;
};

/** The process's one pool. */
export function getDatabase(): DatabaseHandle {
  shared.infradevDatabase ??= createDatabase(findDatabaseUrl(serverEnv().dataDir), { applicationName: "infradev-web" });
  return shared.infradevDatabase;
}

/** The process's one context, with Next's cache behind `expireTags`. */
export function getServerContext(): Promise<ServerContext> {
  shared.infradevContext ??= openContext().catch((error: unknown) => {
    delete shared.infradevContext;
    throw error;
  });
  return shared.infradevContext;
}

async function openContext(): Promise<ServerContext> {
  const { revalidateTag } = await import("next/cache");
  return createServerContext({
    database: getDatabase(),
    dataDir: serverEnv().dataDir,
    serverName: serverEnv().serverName,
    expireTags: (tags) => {
      for (const tag of tags) revalidateTag(tag, { expire: 0 });
    },
  });
}

/** The document at `/.well-known/infradev-keys.json`. */
export async function publishedKeys(context: Pick<ServerContext, "database">) {
  const keys = await listKeys(context.database.sql);
  return { format: "infradev-keys/1" as const, keys: keys.map(publishedKeyOf) };
}

/** A key as it is published. */
export const publishedKeyOf = (key: KeyRow): PublishedKey => ({
  keyid: key.keyid,
  role: key.role,
  owner: key.owner,
  spki: toBase64(key.spki),
  validFrom: key.validFrom.toISOString(),
  validUntil: key.validUntil?.toISOString() ?? null,
  revokedAt: key.revokedAt?.toISOString() ?? null,
  compromisedSince: key.compromisedSince?.toISOString() ?? null,
});
