/**
 * Commands that check a bundle with bash, curl, tar, sha256sum, jq and openssl 3, step by step. They stand word for word
 * in lib/evidence/README.md too; a test holds the two together.
 */
export const byHand = {
  download: [
    "SITE=https://<this site>",
    "GRADING=<grading id, from the task's page>",
    'curl -fL -o bundle.tar.gz "$SITE/api/v1/gradings/$GRADING/bundle"',
    'curl -fL -o keys.json "$SITE/.well-known/infradev-keys.json"',
  ].join("\n"),
  unpack: ["export LC_ALL=C", "mkdir bundle && tar -xzf bundle.tar.gz -C bundle && cd bundle"].join("\n"),
  digests: [
    "# every listed file has its digest",
    "sha256sum --check --strict --quiet SHA256SUMS",
    "# and nothing is there that the list lacks: prints nothing",
    "diff <(find . ! -type d ! -path ./SHA256SUMS ! -path ./bundle.intoto.jsonl -printf '%P\\n' | sort) <(cut -c67- SHA256SUMS)",
  ].join("\n"),
  signatures: [
    "mkdir ../signed",
    "n=0",
    "while read -r envelope; do",
    "  n=$((n + 1))",
    "  statement=../signed/statement-$n.json",
    '  # the signed bytes: "DSSEv1", then type and body, each after its length in bytes',
    '  type=$(jq -r .payloadType <<<"$envelope")',
    '  jq -r .payload <<<"$envelope" | base64 -d > "$statement"',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own placeholder
    '  { printf \'DSSEv1 %d %s %d \' "${#type}" "$type" "$(stat -c %s "$statement")"; cat "$statement"; } > ../signed/pae-$n',
    "  jq -r '.signatures[0].sig' <<<\"$envelope\" | base64 -d > ../signed/sig-$n",
    "  keyid=$(jq -r '.signatures[0].keyid' <<<\"$envelope\")",
    "  jq -r --arg id \"$keyid\" '.keys[] | select(.keyid == $id) | .spki' ../keys.json | base64 -d > ../signed/key-$n.der",
    "  openssl pkeyutl -verify -pubin -keyform DER -inkey ../signed/key-$n.der -rawin -in ../signed/pae-$n -sigfile ../signed/sig-$n",
    "  # a key's id is the digest of the key",
    '  test "$(sha256sum < ../signed/key-$n.der | cut -d\' \' -f1)" = "$keyid" && echo "key id holds"',
    "done < bundle.intoto.jsonl",
  ].join("\n"),
  statements: [
    "# the statements speak of exactly these files: prints nothing",
    "diff <(jq -r '.subject[] | \"\\(.digest.sha256)  \\(.name)\"' ../signed/statement-*.json | sort -u) <(sha256sum SHA256SUMS payload/patch.diff | sort)",
    "# and say what the result says: prints true",
    "jq -n --slurpfile statement ../signed/statement-2.json --slurpfile result payload/result.json \\",
    "  '$statement[0].predicate.outcome as $o | $result[0] as $r",
    "   | $o.status == $r.status and $o.resolved == $r.summary.resolved",
    '   and $o.requiredPassed == ([$r.tests[] | select(.required and .status == "passed")] | length)',
    "   and $o.requiredTotal == ([$r.tests[] | select(.required)] | length)'",
  ].join("\n"),
} as const;
