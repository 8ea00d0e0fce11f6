import type { ReactNode } from "react";

/** Where a page stands: links to what holds it, then the page itself. */
export function Crumbs({ trail, here }: { trail: readonly { href: string; label: ReactNode }[]; here: ReactNode }) {
  return (
    <nav aria-label="Breadcrumb" className="crumbs">
      <ol>
        {trail.map(({ href, label }) => (
          <li key={href}>
            <a href={href}>{label}</a>
          </li>
        ))}
        <li aria-current="page">{here}</li>
      </ol>
    </nav>
  );
}
