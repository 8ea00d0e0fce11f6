"use client";

import type { Route } from "next";
import Link from "next/link";
import { usePathname } from "next/navigation";
import type { ReactNode } from "react";

/** A link of the main navigation that knows whether it leads to the page shown. */
export function NavLink({ href, children }: { href: Route; children: ReactNode }) {
  const path = usePathname();
  const current =
    href === "/"
      ? path === "/" || path.startsWith("/board/")
      : path.startsWith(href) || (href === "/tasks" && path.startsWith("/task-list/"));
  return (
    <Link href={href} prefetch={false} aria-current={current ? "page" : undefined}>
      {children}
    </Link>
  );
}
