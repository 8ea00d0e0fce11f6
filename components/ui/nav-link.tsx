"use client";

import { usePathname } from "next/navigation";
import type { ReactNode } from "react";

/** A link of the main navigation that knows whether it leads to the section shown: its own address or one `under` it. */
export function NavLink({ href, under, children }: { href: string; under: readonly string[]; children: ReactNode }) {
  const path = usePathname();
  const current = path === href || under.some((start) => path.startsWith(start));
  return (
    <a href={href} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
