import type { ReactNode } from "react";
import type { AttemptDetail } from "@/lib/contract/api";
import { formatBytes } from "@/lib/format/numbers";
import { formatInstant } from "@/lib/format/times";
import { TierBadge } from "./tier-badge";

/** What proves the numbers above: bundle, signature, receipt, and three ways to check them. `verify` is the button. */
export function EvidenceBlock({ detail, verify }: { detail: AttemptDetail; verify: ReactNode }) {
  const { grading } = detail;
  if (!grading) return null;
  const bundle = `/api/v1/gradings/${grading.id}/bundle`;
  return (
    <section aria-labelledby="evidence" className="evidence-block">
      <h2 id="evidence">Evidence</h2>
      <div className="two">
        <dl className="facts">
          <dt>Provenance</dt>
          <dd>
            <TierBadge tier={grading.tier} />
            {grading.late ? " late: kept as evidence, never scored" : ""}
          </dd>
          <dt>Grading</dt>
          <dd>
            <code>{grading.id}</code>
          </dd>
          <dt>Bundle, sha256</dt>
          <dd>
            <code>{grading.bundleSha256}</code>
          </dd>
          <dt>Signed by key</dt>
          <dd>
            <code>{grading.keyid}</code>
          </dd>
          <dt>Received</dt>
          <dd>
            {formatInstant(grading.receivedAt)}
            {detail.receipt ? ", with a signed receipt" : ""}
          </dd>
        </dl>
        <div className="verify">
          {verify}
          <p>
            <a href={bundle} download>
              Download the bundle
            </a>{" "}
            <span className="count">{formatBytes(grading.bundleBytes)}</span>
          </p>
        </div>
      </div>
      <details>
        <summary>Check it with the runner, or by hand</summary>
        <pre className="commands">
          {`curl -fLO -J <this site>${bundle}
npm run runner -- verify ${grading.id}.infradev.tar.gz --server <this site>`}
        </pre>
        <p className="aside">
          With <code>--keys FILE</code> the command trusts no server. <a href="/docs/verify">By hand</a>, openssl,
          sha256sum and jq do: the page shows every command.
        </p>
      </details>
    </section>
  );
}
