import type { Metadata } from "next";
import { byHand } from "@/lib/prepare/by-hand";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "Verify",
  description: "Three ways to check a graded number, and what each one proves.",
};

export default function Page() {
  return (
    <div className="prose">
      <div className="page-head">
        <h1>Verify a number yourself</h1>
        <p className="lead">
          Every graded number leads to a signed bundle. Three ways check it; each says what it proves and what it
          trusts.
        </p>
      </div>

      <h2 id="page">1. In the page</h2>
      <p>
        The Verify button of a task’s page fetches the stored evidence, checks signature, digests, completeness and
        arithmetic with the browser’s own cryptography, and compares the result with the numbers on the page. It proves
        that the stored evidence matches what is shown. It still trusts this site for its script and for the list of
        keys.
      </p>

      <h2 id="runner">2. With the runner</h2>
      <pre className="commands">{`npm run runner -- verify bundle.tar.gz --server https://<this site>
npm run runner -- verify bundle.tar.gz --keys keys.json`}</pre>
      <p>
        Signature, every digest, no unlisted file, completeness against the manifest, arithmetic; with a server also
        receipt and inclusion in the log. With keys that you pinned before, it trusts no server.
      </p>

      <h2 id="hand">3. By hand</h2>
      <p>
        With bash, curl, tar, sha256sum, jq and openssl 3. Fetch a bundle and the keys; better keys that you saved
        before:
      </p>
      <pre className="commands">{byHand.download}</pre>
      <pre className="commands">{byHand.unpack}</pre>
      <p>Digests, and that nothing stands unlisted:</p>
      <pre className="commands">{byHand.digests}</pre>
      <p>Signatures (each prints “Signature Verified Successfully” and “key id holds”):</p>
      <pre className="commands">{byHand.signatures}</pre>
      <p>What was signed, against what is there:</p>
      <pre className="commands">{byHand.statements}</pre>
      <p>
        By hand you check that the holder of the key signed exactly these files. That the key is the host’s, and that
        the host ran what it says, rests on the operator that registered it: the row’s tier says which.
      </p>

      <h2 id="meaning">What a signature does not say</h2>
      <p>
        A signature fixes who stated what, and that nothing changed since. It does not make the statement true. That is
        why a vendor’s own bundle reaches “signed” only, a trusted host’s “verified”, and two operators’ agreement
        “reproduced”.
      </p>
    </div>
  );
}
