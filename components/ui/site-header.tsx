import Link from "next/link";
import { NavLink } from "./nav-link";

/** Name, sections and the choice of theme. */
export function SiteHeader() {
  return (
    <header className="site-header">
      <Link href="/" className="wordmark" prefetch={false}>
        InfraDev
      </Link>
      <nav aria-label="Main">
        <ul>
          <li>
            <NavLink href="/">Leaderboard</NavLink>
          </li>
          <li>
            <NavLink href="/tasks">Tasks</NavLink>
          </li>
          <li>
            <NavLink href="/published">Published</NavLink>
          </li>
          <li>
            <NavLink href="/docs/methodology">Methodology</NavLink>
          </li>
          <li>
            <NavLink href="/docs/verify">Verify</NavLink>
          </li>
        </ul>
      </nav>
      <label className="theme-choice">
        <span>Theme</span>
        <select id="theme" defaultValue="system" autoComplete="off">
          <option value="system">system</option>
          <option value="light">light</option>
          <option value="dark">dark</option>
        </select>
      </label>
    </header>
  );
}
