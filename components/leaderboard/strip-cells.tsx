import type { ReactNode } from "react";
import { taskVerdicts } from "@/lib/contract/vocabulary";
import { verdictLabels } from "@/lib/prepare/labels";
import { stripHeight, stripPlaces } from "./strip-geometry";

interface Props {
  /** Tasks in the order of the strips' cells, by category. */
  groups: readonly (readonly { slug: string; title: string }[])[];
  children: ReactNode;
}

/**
 * Strips whose cells can be read one by one where `public/strips.js` runs: it finds here what the cells are and where
 * they stand, in units of the strips' view box. Without it each strip is one link, to its submission.
 */
export function StripCells({ groups, children }: Props) {
  const cells = {
    tasks: groups.flat(),
    verdicts: taskVerdicts.map((verdict) => verdictLabels[verdict]),
    missing: taskVerdicts.indexOf("missing"),
    ...stripPlaces(groups.map(({ length }) => length)),
    height: stripHeight,
  };
  return (
    <div className="strip-section">
      {children}
      <span className="strip-cursor" aria-hidden="true" hidden />
      <span className="strip-reading" role="status" hidden />
      <script type="application/json">{JSON.stringify(cells).replaceAll("<", "\\u003c")}</script>
      <script src="/strips.js" async />
    </div>
  );
}
