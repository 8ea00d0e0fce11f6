import "server-only";
import { access, constants, mkdir } from "node:fs/promises";
import { getServerContext } from "./context";
import { logger } from "./logger";

export type Health = { ok: boolean; database: "ok" | "unreachable"; data: "ok" | "not writable" };

/** Whether the database answers and the data folder can be written. */
export async function checkHealth(): Promise<Health> {
  try {
    const context = await getServerContext();
    await context.database.sql`select 1`;
    const data = await isWritable(context.dataDir);
    return { ok: data, database: "ok", data: data ? "ok" : "not writable" };
  } catch (error) {
    logger().warn({ err: error }, "the health check failed");
    return { ok: false, database: "unreachable", data: "ok" };
  }
}

async function isWritable(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
