import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { byHand } from "./by-hand";

const readme = readFileSync(new URL("../evidence/README.md", import.meta.url), "utf8");

describe("commands of verification by hand", () => {
  it.each(Object.entries(byHand))("%s are those of the evidence's own description", (_step, commands) => {
    expect(readme).toContain(`\`\`\`sh\n${commands}\n\`\`\``);
  });
});
