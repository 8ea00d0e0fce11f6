import type { ReactNode } from "react";

/** A choice that is an address. */
export function Choice({ href, current, children }: { href: string; current: boolean; children: ReactNode }) {
  return (
    <li>
      <a href={href} aria-current={current ? "true" : undefined}>
        {children}
      </a>
    </li>
  );
}
