import type { ReactNode } from "react";

/** Links to the pages around one, in their order, behind `lead`; a link without an address is left out. */
export function StepLinks({
  label,
  steps,
  lead,
}: {
  label: string;
  steps: readonly (readonly [name: string, href: string | null])[];
  lead?: ReactNode;
}) {
  if (steps.every(([, href]) => href === null)) return null;
  return (
    <nav aria-label={label} className="log-steps">
      <ul>
        {lead === undefined ? null : <li className="count">{lead}</li>}
        {steps.map(([name, href]) =>
          href === null ? null : (
            <li key={name}>
              <a href={href} rel="nofollow">
                {name}
              </a>
            </li>
          ),
        )}
      </ul>
    </nav>
  );
}

/** Links to the ranges around one, by where each begins; see `rangesAround`. */
export function RangeLinks({
  label,
  ranges,
  hrefOf,
}: {
  label: string;
  ranges: Record<"first" | "previous" | "next" | "last", number | null>;
  hrefOf: (from: number) => string;
}) {
  const to = (from: number | null): string | null => (from === null ? null : hrefOf(from));
  return (
    <StepLinks
      label={label}
      steps={[
        ["First page", to(ranges.first)],
        ["Previous page", to(ranges.previous)],
        ["Next page", to(ranges.next)],
        ["Last page", to(ranges.last)],
      ]}
    />
  );
}
