import type { Problem } from "../contract/errors";
import { concatBytes, fromBase64, toBase64, utf8 } from "./bytes";
import type { Signer } from "./keys";
import { verifySignature } from "./keys";

/** A DSSE envelope of any payload type (github.com/secure-systems-lab/dsse, protocol v1). */
export interface Envelope<Type extends string = string> {
  payload: string;
  payloadType: Type;
  signatures: { keyid: string; sig: string }[];
}

/** A public key that may have signed. */
export interface VerificationKey {
  keyid: string;
  /** SubjectPublicKeyInfo, DER, base64. */
  spki: string;
}

/** The public half of a signer's key, to read what it signed. */
export const verificationKeyOf = ({ keyid, spki }: Signer): VerificationKey => ({ keyid, spki: toBase64(spki) });

/** DSSE's pre-authentication encoding: what is signed, over the payload's raw bytes. */
export function preAuthEncoding(payloadType: string, body: Uint8Array): Uint8Array {
  const type = utf8(payloadType);
  return concatBytes(utf8(`DSSEv1 ${type.length} `), type, utf8(` ${body.length} `), body);
}

/** Signs bytes as they are; nothing is canonicalized. */
export async function signEnvelope<Type extends string>(
  payloadType: Type,
  body: Uint8Array,
  signer: Signer,
): Promise<Envelope<Type>> {
  const signature = await signer.sign(preAuthEncoding(payloadType, body));
  return {
    payload: toBase64(body),
    payloadType,
    signatures: [{ keyid: signer.keyid, sig: toBase64(signature) }],
  };
}

/** The one spelling of an envelope: fixed key order, no white space. A line of a bundle must equal this. */
export function serializeEnvelope(envelope: Envelope): string {
  return JSON.stringify({
    payload: envelope.payload,
    payloadType: envelope.payloadType,
    signatures: envelope.signatures.map(({ keyid, sig }) => ({ keyid, sig })),
  });
}

export type EnvelopeVerdict<Key extends VerificationKey> =
  | { ok: true; body: Uint8Array; key: Key }
  | { ok: false; problem: Problem };

/**
 * Verifies an envelope against known keys. The keyid is a hint that selects among these and nothing more. One valid
 * signature by a known key suffices (DSSE); a signature that names a known key and does not verify is refused even so.
 * Problems: `<prefix>.unknown-key`, `<prefix>.signature-invalid`, `<prefix>.envelope-form`.
 */
export async function verifyEnvelope<Key extends VerificationKey>(
  envelope: Envelope,
  keys: readonly Key[],
  prefix = "bundle",
): Promise<EnvelopeVerdict<Key>> {
  const form = (message: string): Problem => ({
    code: `${prefix}.envelope-form`,
    message,
    rule: "an envelope holds its payload and its signatures in padded, canonical base64",
    remedy: "take the envelope again as its signer wrote it",
  });
  let body: Uint8Array;
  try {
    body = fromBase64(envelope.payload);
  } catch {
    return { ok: false, problem: form("the envelope's payload is not canonical base64") };
  }
  const message = preAuthEncoding(envelope.payloadType, body);
  let verifiedBy: Key | null = null;
  for (const { keyid, sig } of envelope.signatures) {
    const key = keys.find((candidate) => candidate.keyid === keyid);
    if (!key) continue;
    let signature: Uint8Array;
    try {
      signature = fromBase64(sig);
    } catch {
      return { ok: false, problem: form(`the signature by key ${keyid} is not canonical base64`) };
    }
    if (!(await verifySignature(fromBase64(key.spki), message, signature)))
      return {
        ok: false,
        problem: {
          code: `${prefix}.signature-invalid`,
          message: "the signature does not fit the bytes that it claims to sign",
          where: `key ${keyid}`,
          rule: "Ed25519 over DSSE's pre-authentication encoding of the payload's raw bytes",
          remedy: "take the file again from its signer; if it still differs, it was changed after signing",
        },
      };
    verifiedBy ??= key;
  }
  if (!verifiedBy)
    return {
      ok: false,
      problem: {
        code: `${prefix}.unknown-key`,
        message: `signed by a key that is not among the known keys (${keys.length} known)`,
        where: `key ${envelope.signatures.map(({ keyid }) => keyid).join(", ")}`,
        rule: "only registered keys count; a keyid selects among them and proves nothing by itself",
        remedy: "register the key, or give the list of keys that holds it",
      },
    };
  return { ok: true, body, key: verifiedBy };
}
