import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { PatchDiff } from "@/components/results/patch-diff";
import type { AttemptDetail } from "@/lib/contract/api";
import type { FailureDetailAnswer } from "@/lib/contract/failures-api";
import type { FailureBackground } from "@/lib/prepare/failure-page";
import { PatchHunks } from "./patch-hunks";

const text = ["a.py", "b.py"]
  .map((file) => `diff --git a/${file} b/${file}\n--- a/${file}\n+++ b/${file}\n@@ -1 +1 @@\n-old\n+new\n`)
  .join("");

test("each changed file that no frame touches leads to its diff on the attempt's page", () => {
  const answer = { failure: { submissionId: "some", task: { slug: "task" } }, frames: [] };
  const html = renderToStaticMarkup(
    <PatchHunks
      answer={answer as unknown as FailureDetailAnswer}
      background={{ patch: { text, sha256: "", truncated: false }, log: null } as unknown as FailureBackground}
    />,
  );
  const anchors = [...html.matchAll(/href="\/submissions\/some\/task#(patch-file-\d+)"/g)].map(([, id]) => id);
  expect(anchors).toEqual(["patch-file-1", "patch-file-2"]);
  const attempt = { patch: text, patchSha256: "", patchTruncated: false } as AttemptDetail["attempt"];
  const whole = renderToStaticMarkup(<PatchDiff attempt={attempt} />);
  expect([...whole.matchAll(/<details[^>]* id="([^"]+)"/g)].map(([, id]) => id)).toEqual(anchors);
});
