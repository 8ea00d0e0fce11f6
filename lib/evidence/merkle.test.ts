import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBase64, fromHex, toHex, utf8 } from "./bytes";
import { generateKeyPair, spkiOfRaw } from "./keys";
import {
  decodeEntries,
  encodeEntries,
  leafHash,
  noteVerifierKey,
  openCheckpoint,
  openNote,
  parseTilePath,
  signCheckpoint,
  tilePath,
  tileWidthAt,
  verifyConsistency,
  verifyInclusion,
} from "./merkle";
import { leafHashOf, MerkleTree } from "./node/merkle-tree";

// The reference inputs and roots of Certificate Transparency's own Merkle tree tests.
const inputs = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"].map(
  fromHex,
);
const roots = [
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

const treeOf = (size: number) =>
  new MerkleTree(Array.from({ length: size }, (_, index) => leafHashOf(utf8(`record ${index}`))));

describe("RFC 6962 tree", () => {
  it("yields the reference roots, and SHA-256 of nothing for the empty tree", () => {
    const tree = new MerkleTree();
    expect(toHex(tree.root())).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    const reached = inputs.map((input) => {
      tree.append(leafHashOf(input));
      return toHex(tree.root());
    });
    expect(reached).toEqual(roots);
    expect(roots.map((_, index) => toHex(tree.root(index + 1)))).toEqual(roots);
  });

  it("hashes leaves alike in both implementations", async () => {
    for (const input of inputs) expect(toHex(await leafHash(input))).toBe(toHex(leafHashOf(input)));
  });

  it("proves inclusion of every record in every tree up to 40 records, and of no other record", async () => {
    const tree = treeOf(40);
    for (let size = 1; size <= 40; size += 1)
      for (let index = 0; index < size; index += 1) {
        const proof = tree.inclusionProof(index, size);
        const root = tree.root(size);
        expect(await verifyInclusion(index, size, leafHashOf(utf8(`record ${index}`)), proof, root)).toBe(true);
        expect(await verifyInclusion(index, size, leafHashOf(utf8("another")), proof, root)).toBe(false);
      }
  });

  it("proves consistency of every pair of trees up to 30 records, and of no forged one", async () => {
    const tree = treeOf(30);
    for (let newSize = 1; newSize <= 30; newSize += 1)
      for (let oldSize = 1; oldSize <= newSize; oldSize += 1) {
        const proof = tree.consistencyProof(oldSize, newSize);
        const [oldRoot, newRoot] = [tree.root(oldSize), tree.root(newSize)];
        expect(await verifyConsistency(oldSize, newSize, oldRoot, newRoot, proof)).toBe(true);
        expect(await verifyConsistency(oldSize, newSize, leafHashOf(utf8("x")), newRoot, proof)).toBe(false);
        expect(await verifyConsistency(oldSize, newSize, oldRoot, leafHashOf(utf8("x")), proof)).toBe(false);
      }
  });

  it("refuses any proof with a changed, missing or extra hash", async () => {
    const tree = treeOf(600);
    await fc.assert(
      fc.asyncProperty(
        fc
          .integer({ min: 2, max: 600 })
          .chain((size) => fc.record({ size: fc.constant(size), index: fc.nat(size - 1) })),
        fc.constantFrom("flip", "drop", "add"),
        fc.nat(),
        async ({ size, index }, how, where) => {
          const proof = tree.inclusionProof(index, size);
          const position = where % proof.length;
          const changed =
            how === "add"
              ? proof.toSpliced(position, 0, leafHashOf(utf8("extra")))
              : how === "drop"
                ? proof.toSpliced(position, 1)
                : proof.with(position, leafHashOf(proof[position] ?? new Uint8Array()));
          const leaf = leafHashOf(utf8(`record ${index}`));
          expect(await verifyInclusion(index, size, leaf, changed, tree.root(size))).toBe(false);
        },
      ),
    );
  });
});

describe("C2SP signed notes and checkpoints", () => {
  // The example of Go's golang.org/x/mod/sumdb/note.
  const note =
    "If you think cryptography is the answer to your problem,\n" +
    "then you don't know what your problem is.\n" +
    "\n" +
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
  const verifier = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
  const spki = spkiOfRaw(fromBase64("ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW").subarray(1));

  it("verifies a note that another implementation signed", async () => {
    expect(await noteVerifierKey("PeterNeumann", spki)).toBe(verifier);
    expect(await openNote(note, "PeterNeumann", [{ spki }])).toMatchObject({
      text: note.split("\n\n")[0]?.concat("\n"),
    });
    const changed = note.replace("answer", "question");
    expect(await openNote(changed, "PeterNeumann", [{ spki }])).toMatchObject({
      problem: { code: "log.signature-invalid" },
    });
  });

  it("round-trips a checkpoint and refuses another origin or key", async () => {
    const { signer } = await generateKeyPair();
    const { signer: other } = await generateKeyPair();
    const checkpoint = { origin: "log.example/infradev", size: 70_000, root: leafHashOf(utf8("root")) };
    const signed = await signCheckpoint(checkpoint, signer);
    const opened = await openCheckpoint(signed, checkpoint.origin, [other, signer]);
    expect("checkpoint" in opened && { ...opened.checkpoint, root: toHex(opened.checkpoint.root) }).toEqual({
      ...checkpoint,
      root: toHex(checkpoint.root),
    });
    expect(await openCheckpoint(signed, "log.example/other", [signer])).toMatchObject({
      problem: { code: "log.unknown-key" },
    });
    expect(await openCheckpoint(signed, checkpoint.origin, [other])).toMatchObject({
      problem: { code: "log.unknown-key" },
    });
    for (const form of ["", "\n", "a\n\nb", `${signed}x`, signed.slice(0, -1)])
      expect(await openCheckpoint(form, checkpoint.origin, [signer])).toHaveProperty("problem");
  });
});

describe("C2SP tiles", () => {
  it("spells paths as the specification's examples do", () => {
    expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).toBe("tile/0/x001/x234/067");
    expect(tilePath({ level: "entries", index: 0, width: 17 })).toBe("tile/entries/000.p/17");
    expect(parseTilePath("tile/0/x001/x234/067")).toEqual({ level: 0, index: 1_234_067, width: 256 });
  });

  it.each([
    "tile/64/000",
    "tile/00/000",
    "tile/0/0",
    "tile/0/x000/001",
    "tile/0/001/002",
    "tile/0/000.p/0",
    "tile/0/000.p/256",
    "tile/0/000.p/08",
    "tile/-1/000",
    "tile/0/../000",
  ])("refuses %s", (path) => {
    expect(parseTilePath(path)).toBeNull();
  });

  it("counts the tiles of a tree of 70,000 as the specification does", () => {
    expect(tileWidthAt(70_000, 0, 272)).toBe(256);
    expect(tileWidthAt(70_000, 0, 273)).toBe(112);
    expect(tileWidthAt(70_000, 0, 274)).toBe(0);
    expect(tileWidthAt(70_000, 1, 0)).toBe(256);
    expect(tileWidthAt(70_000, 1, 1)).toBe(17);
    expect(tileWidthAt(70_000, 2, 0)).toBe(1);
    expect(tileWidthAt(256, 1, 0)).toBe(1);
  });

  it("gives tiles from which the root can be computed", () => {
    const tree = treeOf(600);
    const first = tree.tile({ level: 0, index: 0, width: 256 });
    const top = tree.tile({ level: 1, index: 0, width: 2 });
    expect(first?.length).toBe(8192);
    const rebuilt = new MerkleTree(
      Array.from({ length: 256 }, (_, index) => first?.subarray(index * 32, index * 32 + 32) ?? new Uint8Array()),
    );
    expect(toHex(top?.subarray(0, 32) ?? new Uint8Array())).toBe(toHex(rebuilt.root()));
    expect(tree.tile({ level: 0, index: 2, width: 89 })).toBeNull();
  });

  it("frames entries, and refuses frames that do not fit", () => {
    const records = [utf8(""), utf8("one"), new Uint8Array(65_535).fill(7)];
    const bytes = encodeEntries(records);
    expect(decodeEntries(bytes)?.map((record) => record.length)).toEqual([0, 3, 65_535]);
    expect(decodeEntries(bytes.subarray(0, -1))).toBeNull();
    expect(decodeEntries(Uint8Array.of(0))).toBeNull();
    expect(() => encodeEntries([new Uint8Array(65_536)])).toThrow("65536 bytes");
  });
});
