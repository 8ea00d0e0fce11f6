import type { Metadata } from "next";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "Verify",
  description: "Three ways to check a graded number, and what each one proves.",
};

const download = `SITE=https://<this site>
GRADING=<grading id, from the task's page>
curl -fL -o bundle.tar.gz "$SITE/api/v1/gradings/$GRADING/bundle"
curl -fL -o keys.json "$SITE/.well-known/infradev-keys.json"`;

const unpack = `export LC_ALL=C
mkdir bundle && tar -xzf bundle.tar.gz -C bundle && cd bundle`;

const digests = `# every listed file has its digest
sha256sum --check --strict --quiet SHA256SUMS
# and nothing is there that the list lacks: prints nothing
diff <(find . ! -type d ! -path ./SHA256SUMS ! -path ./bundle.intoto.jsonl -printf '%P\\n' | sort) <(cut -c67- SHA256SUMS)`;

const signature = `mkdir ../signed
n=0
while read -r envelope; do
  n=$((n + 1))
  statement=../signed/statement-$n.json
  # the signed bytes: "DSSEv1", then type and body, each after its length in bytes
  type=$(jq -r .payloadType <<<"$envelope")
  jq -r .payload <<<"$envelope" | base64 -d > "$statement"
  { printf 'DSSEv1 %d %s %d ' "\${#type}" "$type" "$(stat -c %s "$statement")"; cat "$statement"; } > ../signed/pae-$n
  jq -r '.signatures[0].sig' <<<"$envelope" | base64 -d > ../signed/sig-$n
  keyid=$(jq -r '.signatures[0].keyid' <<<"$envelope")
  jq -r --arg id "$keyid" '.keys[] | select(.keyid == $id) | .spki' ../keys.json | base64 -d > ../signed/key-$n.der
  openssl pkeyutl -verify -pubin -keyform DER -inkey ../signed/key-$n.der -rawin -in ../signed/pae-$n -sigfile ../signed/sig-$n
  # a key's id is the digest of the key
  test "$(sha256sum < ../signed/key-$n.der | cut -d' ' -f1)" = "$keyid" && echo "key id holds"
done < bundle.intoto.jsonl`;

const statement = `# the statements speak of exactly these files: prints nothing
diff <(jq -r '.subject[] | "\\(.digest.sha256)  \\(.name)"' ../signed/statement-*.json | sort -u) <(sha256sum SHA256SUMS payload/patch.diff | sort)
# and say what the result says: prints true
jq -n --slurpfile statement ../signed/statement-2.json --slurpfile result payload/result.json \\
  '$statement[0].predicate.outcome as $o | $result[0] as $r
   | $o.status == $r.status and $o.resolved == $r.summary.resolved
   and $o.requiredPassed == ([$r.tests[] | select(.required and .status == "passed")] | length)
   and $o.requiredTotal == ([$r.tests[] | select(.required)] | length)'`;

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
      <p>With bash, curl, tar, sha256sum, jq and openssl 3. Fetch a bundle and the keys:</p>
      <pre className="commands">{download}</pre>
      <pre className="commands">{unpack}</pre>
      <p>Digests, and that no file stands unlisted:</p>
      <pre className="commands">{digests}</pre>
      <p>Signatures (each must print “Signature Verified Successfully”):</p>
      <pre className="commands">{signature}</pre>
      <p>What was signed, against what is there:</p>
      <pre className="commands">{statement}</pre>
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
