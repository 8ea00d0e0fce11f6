import { afterEach, expect, it, vi } from "vitest";

// Nothing may be imported before `Function` is watched: schemas decide when they are made.

afterEach(() => vi.unstubAllGlobals());

it("keeps a strict Content-Security-Policy: no function is made from text, not even to try", async () => {
  const made = vi.fn();
  vi.stubGlobal(
    "Function",
    new Proxy(Function, {
      construct: (target, text) => {
        made(text);
        return new target(...text);
      },
    }),
  );
  const { verifyInPage } = await import("./browser-verify");
  const shown = { status: "completed", tests: [] } as never;
  await expect(verifyInPage("x", shown, async () => Response.json({ gradingId: "x" }))).rejects.toMatchObject({
    code: "evidence.form",
  });
  expect(made).not.toHaveBeenCalled();
});
