import { PgDialect } from "drizzle-orm/pg-core";
import { drizzle, PostgresJsDatabase, PostgresJsSession } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import * as schema from "./schema";

export type Database = PostgresJsDatabase<typeof schema>;
/** Inside `db.transaction(async (tx) => ...)`: queries take either. */
export type Transaction = Parameters<Parameters<Database["transaction"]>[0]>[0];
export type Queryable = Database | Transaction;

/** What writes of one table need, in whatever connection it runs. */
export type Writable = Pick<Queryable, "select" | "insert">;

/** Drizzle inside a transaction of raw SQL. */
export function writableIn(tx: postgres.TransactionSql): Writable {
  const dialect = new PgDialect();
  return new PostgresJsDatabase(
    dialect,
    new PostgresJsSession(tx as unknown as postgres.Sql, dialect, undefined),
    undefined,
  );
}

export interface DatabaseHandle {
  db: Database;
  /** A client of its own for raw SQL, COPY and LISTEN: drizzle changes the date and JSON codecs of the one it gets. */
  sql: postgres.Sql;
  close(): Promise<void>;
}

/** Opens a pool of at most `max` connections for each of the two clients. Nothing connects before the first query. */
export function createDatabase(url: string, options: { max?: number; applicationName?: string } = {}): DatabaseHandle {
  const settings = {
    max: options.max ?? 10,
    onnotice: () => {},
    connection: { application_name: options.applicationName ?? "infradev" },
    connect_timeout: 10,
  };
  const queryClient = postgres(url, settings);
  const sql = postgres(url, settings);
  return {
    db: drizzle(queryClient, { schema }),
    sql,
    close: async () => {
      await Promise.all([queryClient.end({ timeout: 5 }), sql.end({ timeout: 5 })]);
    },
  };
}
