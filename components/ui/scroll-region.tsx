import type { ReactNode } from "react";

/** Lets a wide table scroll inside itself on a narrow screen: a region that takes the keyboard's focus to be scrolled. */
export function ScrollRegion({ label, children }: { label: string; children: ReactNode }) {
  const region = { role: "region", tabIndex: 0, "aria-label": `${label}, table` } as const;
  return (
    <div className="scroll" {...region}>
      {children}
    </div>
  );
}
