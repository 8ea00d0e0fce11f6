import { Command } from "commander";
import { expect, it } from "vitest";
import { registerSelftest } from "./selftest";

it("names the exploits nearest to a name that is none, and not all of them", async () => {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  registerSelftest(program);
  for (const command of program.commands) command.exitOverride().configureOutput({ writeErr: () => undefined });
  const refusal = await program
    .parseAsync(["selftest", "--only", "hang-deaf"], { from: "user" })
    .then(String, (error: Error) => error.message);
  expect(refusal).toContain("hangs-deaf");
  expect(refusal.length).toBeLessThan(250);
});
