import { defineConfig, devices } from "@playwright/test";

const baseURL = process.env["INFRADEV_BASE_URL"];

const chromium = {
  ...devices["Desktop Chrome"],
  viewport: { width: 1280, height: 900 },
  launchOptions: {
    executablePath: process.env["INFRADEV_CHROMIUM"] ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  },
};

export default defineConfig({
  testDir: "pages",
  globalSetup: "./site-under-test.ts",
  outputDir: "../test-results",
  fullyParallel: true,
  workers: 2,
  retries: 0,
  timeout: 90_000,
  expect: { timeout: 10_000 },
  reporter: [["list"], ["json"]],
  use: { ...(baseURL ? { baseURL } : {}), trace: "retain-on-failure" },
  projects: [
    { name: "chromium", use: chromium, testIgnore: "reading.spec.ts" },
    { name: "dark", use: { ...chromium, colorScheme: "dark" }, testMatch: "accessibility.spec.ts" },
    {
      name: "phone",
      use: { ...chromium, viewport: { width: 360, height: 740 } },
      testMatch: ["accessibility.spec.ts", "reading.spec.ts"],
    },
    { name: "no-js", use: { ...chromium, javaScriptEnabled: false }, testMatch: "reading.spec.ts" },
  ],
});
