import { Choice } from "./choice";
import type { SuiteChoice } from "./suite-choice";

/**
 * The suites as links, and the versions of the chosen one where it has several. `version` is null for the newest, which
 * an address leaves out; without `versionHref` a page offers no versions.
 */
export function SuiteNav({
  suites,
  suite,
  suiteHref,
  versionHref,
}: {
  suites: readonly SuiteChoice[];
  suite: { slug: string; version: string };
  suiteHref: (slug: string) => string;
  versionHref?: (version: string | null) => string;
}) {
  const versions = suites.find(({ slug }) => slug === suite.slug)?.versions ?? [];
  return (
    <nav aria-label="Suite">
      <ul className="suites">
        {suites.map(({ slug, title, taskCount }) => (
          <Choice key={slug} href={suiteHref(slug)} current={slug === suite.slug}>
            <bdi>{title}</bdi> <span className="count">{taskCount}</span>
          </Choice>
        ))}
      </ul>
      {versionHref && versions.length > 1 ? (
        <ul className="versions" aria-label="Version">
          {versions.map(({ version }, index) => (
            <Choice key={version} href={versionHref(index === 0 ? null : version)} current={version === suite.version}>
              {version}
            </Choice>
          ))}
        </ul>
      ) : null}
    </nav>
  );
}
