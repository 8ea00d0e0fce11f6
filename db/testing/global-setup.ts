import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startTestServer } from "./index";

declare module "vitest" {
  export interface ProvidedContext {
    testServerUrl: string;
  }
}

/** One Postgres for the whole run, with a migrated template that each test's database is copied from. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = mkdtempSync(join(tmpdir(), "infradev-test-db-"));
  const server = await startTestServer(dataDir);
  project.provide("testServerUrl", server.url);
  return async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}
