import { SearchBox } from "@/components/search/search-box";
import { NavLink } from "./nav-link";

/** The site's sections; `under` are the internal paths that views of a section are rendered at. */
const sections: readonly { href: string; label: string; under: readonly string[] }[] = [
  { href: "/", label: "Leaderboard", under: ["/board/", "/entries"] },
  { href: "/tasks", label: "Tasks", under: ["/tasks", "/task-list/"] },
  { href: "/failures", label: "Failures", under: ["/failures", "/failure"] },
  { href: "/compare", label: "Compare", under: ["/compare", "/comparison"] },
  { href: "/probes", label: "Probes", under: ["/probes", "/probe-"] },
  { href: "/conditions", label: "Conditions", under: ["/conditions", "/condition-"] },
  { href: "/published", label: "Published", under: ["/published"] },
  { href: "/docs", label: "Docs", under: ["/docs"] },
];

/** Name, search, sections and the choice of theme. */
export function SiteHeader() {
  return (
    <header className="site-header">
      <a href="/" className="wordmark">
        InfraDev
      </a>
      <nav aria-label="Main">
        <ul>
          {sections.map(({ href, label, under }) => (
            <li key={href}>
              <NavLink href={href} under={under}>
                {label}
              </NavLink>
            </li>
          ))}
        </ul>
      </nav>
      <SearchBox />
      <label className="theme-choice">
        <span className="sr-only">Theme</span>
        <select id="theme" defaultValue="system" autoComplete="off">
          <option value="system">System</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
    </header>
  );
}
