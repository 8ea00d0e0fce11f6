import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InfraDevError } from "@/lib/contract/errors";
import {
  environmentName,
  installError,
  makeEnvironment,
  meets,
  parseRequirement,
  unmetRequirements,
} from "./python-packages";

describe("requirements", () => {
  test.each([
    ["torch", "2.6.0", true],
    ["torch>=2.6", "2.6.0", true],
    ["torch>=2.6", "2.11.0+cu130", true],
    ["torch>=2.6", "2.5.1", false],
    ["torch>=2.6,<2.10", "2.9.1", true],
    ["torch>=2.6,<2.10", "2.10.0", false],
    ["torch~=2.6", "2.13", true],
    ["torch~=2.6", "3.0", false],
    ["torch~=2.6.1", "2.7.0", false],
    ["torch==2.6.*", "2.6.3", true],
    ["torch==2.6.*", "2.7.0", false],
    ["torch==2.6", "2.6.0", true],
    ["torch!=2.6", "2.6.0", false],
    ["torch>2.6", "2.6.0", false],
    ["torch<=2.6", "2.6.0", true],
  ])("%s with %s: %s", (text, version, expected) => {
    expect(meets(version, parseRequirement(text))).toBe(expected);
  });

  test("what is missing or too old is named with what is there", () => {
    expect(
      unmetRequirements(["torch>=2.6", "numpy", "einops"], { torch: "2.5.1", numpy: "2.4.0", einops: null }),
    ).toEqual(["torch>=2.6 (2.5.1 is installed)", "einops (not installed)"]);
  });

  test("the same packages in any order share an environment, others do not", () => {
    expect(environmentName(["numpy", "torch>=2.6"])).toBe(environmentName(["torch>=2.6", "numpy"]));
    expect(environmentName(["torch>=2.6"])).not.toBe(environmentName(["torch>=2.7"]));
  });
});

describe("what pip says", () => {
  const request = { folder: "/data/python-x", packages: ["torch>=2.6"], base: { executable: "/p", version: "3.15.0" } };
  test.each([
    ["ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "python.no-space"],
    [
      "WARNING: Retrying after NewConnectionError: Failed to establish a new connection\nERROR: No matching distribution found for torch>=2.6",
      "python.index-unreachable",
    ],
    ["ERROR: No matching distribution found for torch>=2.6", "python.no-wheel"],
    ["ERROR: something else", "python.install"],
  ])("%s", (stderr, code) => {
    const error = installError(stderr, request, false);
    expect(error.code).toBe(code);
    expect(error.problem.remedy).toMatch(/INFRADEV_PYTHON/);
  });

  test("a version of Python without a wheel is named", () => {
    expect(installError("ERROR: No matching distribution found for torch>=2.6", request, false).message).toMatch(
      /torch>=2\.6.*3\.15\.0/,
    );
  });
});

describe("an environment", () => {
  let scratch: string;
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "python-packages-"));
  });
  afterAll(async () => {
    await rm(scratch, { recursive: true, force: true });
  });

  test("is not waited for where a lock was left that nobody wrote into", { timeout: 60_000 }, async () => {
    const folder = join(scratch, "python-left");
    await writeFile(`${folder}.lock`, "");
    const before = Date.now() / 1000 - 60;
    await utimes(`${folder}.lock`, before, before);
    const base = { executable: "/bin/false", version: "3.12.0" };
    const made = makeEnvironment({ folder, packages: ["iniconfig"], base, hasGpu: false, variables: {} });
    await expect(made).rejects.toMatchObject({ code: "python.no-venv" });
  });

  test("where a base does not start, it is not made, and the lock is free again", { timeout: 60_000 }, async () => {
    const folder = join(scratch, "python-none");
    const make = () =>
      makeEnvironment({
        folder,
        packages: ["iniconfig"],
        base: { executable: "/bin/false", version: "3.12.0" },
        hasGpu: false,
        variables: {},
      }).then(
        () => null,
        (error: unknown) => error,
      );
    for (const failure of [await make(), await make()]) {
      expect(failure).toBeInstanceOf(InfraDevError);
      expect((failure as InfraDevError).code).toBe("python.no-venv");
    }
  });
});
