import { version } from "@/package.json";

/** Version, licence, and where the machine-readable forms are. */
export function SiteFooter() {
  return (
    <footer className="site-footer">
      <p>InfraDev {version}, Apache-2.0. Every number leads to the evidence behind it.</p>
      <ul>
        <li>
          <a href="/docs/methodology">Methodology</a>
        </li>
        <li>
          <a href="/docs/verify">Verify</a>
        </li>
        <li>
          <a href="/docs/api">API</a>
        </li>
        <li>
          <a href="/feed.xml">Feed</a>
        </li>
        <li>
          <a href="/.well-known/infradev-keys.json">Public keys</a>
        </li>
        <li>
          <a href="/log/checkpoint">Log checkpoint</a>
        </li>
      </ul>
    </footer>
  );
}
