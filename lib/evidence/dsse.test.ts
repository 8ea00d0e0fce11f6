import { describe, expect, it } from "vitest";
import { decodeUtf8, fromBase64, fromHex, toBase64, toHex, utf8 } from "./bytes";
import { preAuthEncoding, serializeEnvelope, signEnvelope, verifyEnvelope } from "./dsse";
import { generateKeyPair, keyidOf, keyProblemAt, signerFromPkcs8, spkiOfRaw, verifySignature } from "./keys";

const published = (signer: { keyid: string; spki: Uint8Array }) => ({
  keyid: signer.keyid,
  spki: toBase64(signer.spki),
});

describe("DSSE", () => {
  it("encodes what is signed as the protocol's own vector has it", () => {
    const encoded = preAuthEncoding("http://example.com/HelloWorld", utf8("hello world"));
    expect(decodeUtf8(encoded)).toBe("DSSEv1 29 http://example.com/HelloWorld 11 hello world");
  });

  it("counts bytes, not characters", () => {
    expect(decodeUtf8(preAuthEncoding("é", utf8("日本")))).toBe("DSSEv1 2 é 6 日本");
  });

  it("verifies what was signed and names the key", async () => {
    const { signer } = await generateKeyPair();
    const envelope = await signEnvelope("text/plain", utf8("hello"), signer);
    const verdict = await verifyEnvelope(envelope, [published(signer)]);
    expect(verdict).toMatchObject({ ok: true, key: { keyid: signer.keyid } });
    expect(verdict.ok && decodeUtf8(verdict.body)).toBe("hello");
  });

  it("binds the payload's type", async () => {
    const { signer } = await generateKeyPair();
    const envelope = await signEnvelope("text/plain", utf8("hello"), signer);
    const verdict = await verifyEnvelope({ ...envelope, payloadType: "text/html" }, [published(signer)]);
    expect(verdict).toMatchObject({ ok: false, problem: { code: "bundle.signature-invalid" } });
  });

  it("takes the keyid as a hint among known keys only", async () => {
    const { signer } = await generateKeyPair();
    const { signer: stranger } = await generateKeyPair();
    const envelope = await signEnvelope("text/plain", utf8("hello"), stranger);
    expect(await verifyEnvelope(envelope, [published(signer)])).toMatchObject({
      ok: false,
      problem: { code: "bundle.unknown-key" },
    });
    const disguised = { ...envelope, signatures: envelope.signatures.map(({ sig }) => ({ keyid: signer.keyid, sig })) };
    expect(await verifyEnvelope(disguised, [published(signer)])).toMatchObject({
      ok: false,
      problem: { code: "bundle.signature-invalid" },
    });
  });

  it("refuses base64 in any but its canonical spelling", async () => {
    const { signer } = await generateKeyPair();
    const envelope = await signEnvelope("text/plain", utf8("hello!!"), signer);
    expect(envelope.payload.endsWith("IQ==")).toBe(true);
    const respelled = { ...envelope, payload: envelope.payload.replace(/IQ==$/, "IR==") };
    expect(await verifyEnvelope(respelled, [published(signer)])).toMatchObject({
      ok: false,
      problem: { code: "bundle.envelope-form" },
    });
  });

  it("has one spelling", () => {
    const line = serializeEnvelope({ signatures: [{ sig: "c2ln", keyid: "k" }], payloadType: "t", payload: "cA==" });
    expect(line).toBe('{"payload":"cA==","payloadType":"t","signatures":[{"keyid":"k","sig":"c2ln"}]}');
  });
});

describe("keys", () => {
  // RFC 8032, 7.1, tests 1 to 3
  const vectors = [
    {
      secret: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      public: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      message: "",
      signature:
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    },
    {
      secret: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      public: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      message: "72",
      signature:
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    },
    {
      secret: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      public: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
      message: "af82",
      signature:
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    },
  ];

  it.each(vectors)("signs and verifies RFC 8032's message '$message'", async (vector) => {
    const pkcs8 = fromHex(`302e020100300506032b657004220420${vector.secret}`);
    const signer = await signerFromPkcs8(pkcs8);
    expect(toHex(signer.spki)).toBe(toHex(spkiOfRaw(fromHex(vector.public))));
    expect(toHex(await signer.sign(fromHex(vector.message)))).toBe(vector.signature);
    expect(await verifySignature(signer.spki, fromHex(vector.message), fromHex(vector.signature))).toBe(true);
    expect(await verifySignature(signer.spki, fromHex(`${vector.message}00`), fromHex(vector.signature))).toBe(false);
  });

  it("refuses signatures of another length without an exception", async () => {
    const { signer } = await generateKeyPair();
    for (const length of [0, 1, 63, 65, 4096])
      expect(await verifySignature(signer.spki, utf8("m"), new Uint8Array(length))).toBe(false);
  });

  it("names a key by the digest of its SPKI", async () => {
    const spki = spkiOfRaw(fromHex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
    expect(await keyidOf(spki)).toMatch(/^[0-9a-f]{64}$/);
    expect(toHex(fromBase64(toBase64(spki)))).toBe(toHex(spki));
  });

  const key = {
    keyid: "0".repeat(64),
    validFrom: "2025-01-01T00:00:00Z",
    validUntil: "2025-02-01T00:00:00Z",
    revokedAt: null,
    compromisedSince: null,
  };
  const at = (instant: string) => new Date(instant);

  it("counts a signature from the first instant of the window up to the last, the end left out", () => {
    expect(keyProblemAt(key, at("2024-12-31T23:59:59.999Z"))?.code).toBe("bundle.key-not-yet-valid");
    expect(keyProblemAt(key, at("2025-01-01T00:00:00Z"))).toBeNull();
    expect(keyProblemAt(key, at("2025-01-31T23:59:59.999Z"))).toBeNull();
    expect(keyProblemAt(key, at("2025-02-01T00:00:00Z"))?.code).toBe("bundle.key-expired");
  });

  it("keeps what was received before a compromise and drops what came after, whenever that was found out", () => {
    const compromised = { ...key, revokedAt: "2025-01-20T00:00:00Z", compromisedSince: "2025-01-10T00:00:00Z" };
    expect(keyProblemAt(compromised, at("2025-01-09T23:59:59Z"))).toBeNull();
    expect(keyProblemAt(compromised, at("2025-01-10T00:00:00Z"))?.code).toBe("bundle.key-revoked");
  });

  it("drops what was received after a revocation without a compromise", () => {
    const revoked = { ...key, revokedAt: "2025-01-20T00:00:00Z" };
    expect(keyProblemAt(revoked, at("2025-01-19T00:00:00Z"))).toBeNull();
    expect(keyProblemAt(revoked, at("2025-01-20T00:00:00Z"))?.code).toBe("bundle.key-revoked");
  });
});
