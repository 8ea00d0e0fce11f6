import "server-only";
import pino, { type Logger } from "pino";
import { serverEnv } from "./env";

let instance: Logger | undefined;

/** One JSON line a record, on standard error. */
export function logger(): Logger {
  instance ??= pino({ level: serverEnv().logLevel, base: null }, pino.destination({ dest: 2, sync: true }));
  return instance;
}
