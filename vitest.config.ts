import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const root = fileURLToPath(new URL(".", import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^@\//, replacement: root },
      { find: /^server-only$/, replacement: `${root}db/testing/server-only.ts` },
    ],
  },
  test: {
    passWithNoTests: false,
    // One after the other, where several are asked for: each has its own number of workers.
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["{lib,db,runner,components,app}/**/*.test.{ts,tsx}"],
          exclude: ["**/*.db.test.ts", "**/*.{runner,alone}.test.ts", "node_modules/**"],
          testTimeout: 30_000,
          maxWorkers: Math.max(2, availableParallelism() - 1),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "db",
          include: ["{lib,db,app}/**/*.db.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          globalSetup: ["db/testing/global-setup.ts"],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "runner",
          include: ["runner/**/*.runner.test.ts"],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // What measures time, looks at the whole host, or keeps every processor busy by itself.
        extends: true,
        test: {
          name: "alone",
          include: ["runner/**/*.alone.test.ts"],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["e2e/**/*.e2e.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          maxWorkers: 1,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
});
