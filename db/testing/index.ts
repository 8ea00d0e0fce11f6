import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { createDatabase, type DatabaseHandle } from "../client";
import { type EmbeddedServer, startEmbedded } from "../embedded";
import { migrateDatabase } from "../migrate";

const templateName = "infradev_template";

/**
 * A throw-away server with a migrated template database. Durability is off (a killed process loses nothing, a power cut
 * would) unless `durable` asks for the settings of production, for measurements.
 */
export async function startTestServer(dataDir: string, options: { durable?: boolean } = {}): Promise<EmbeddedServer> {
  const server = await startEmbedded({
    dataDir,
    settings: options.durable ? {} : { fsync: "off", full_page_writes: "off", max_connections: "200" },
  });
  const client = postgres(server.url, { max: 1, onnotice: () => {} });
  try {
    await client.unsafe(`create database ${templateName}`);
  } finally {
    await client.end({ timeout: 5 });
  }
  await migrateDatabase(withDatabase(server.url, templateName));
  return server;
}

export interface TestDatabase extends DatabaseHandle {
  url: string;
  /** Closes the pool and drops the database. */
  drop(): Promise<void>;
}

/** A migrated, empty database of the test's own, copied from the template in some 50 ms. */
export async function createTestDatabase(serverUrl: string): Promise<TestDatabase> {
  const name = `t_${randomBytes(8).toString("hex")}`;
  const admin = postgres(serverUrl, { max: 1, onnotice: () => {} });
  try {
    // CREATE DATABASE fails while another copy of the template is being made.
    await admin`select pg_advisory_lock(4711)`;
    await admin.unsafe(`create database ${name} template ${templateName}`);
  } finally {
    await admin.end({ timeout: 5 });
  }
  const url = withDatabase(serverUrl, name);
  const handle = createDatabase(url);
  return {
    ...handle,
    url,
    drop: async () => {
      await handle.close();
      const client = postgres(serverUrl, { max: 1, onnotice: () => {} });
      try {
        await client.unsafe(`drop database if exists ${name} with (force)`);
      } finally {
        await client.end({ timeout: 5 });
      }
    },
  };
}

export function withDatabase(url: string, name: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${name}`;
  return parsed.toString();
}
