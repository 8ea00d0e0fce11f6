/** Uniform on [0, 1). Passed in everywhere: nothing in this folder draws numbers of its own. */
export type Random = () => number;

/**
 * A seeded generator: sfc32 of Chris Doty-Humphrey's PractRand, 128 bits of state, the first twelve outputs discarded.
 * The same seed gives the same sequence on every platform.
 */
export function seededRandom(seed: number): Random {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  let c = seed | 0;
  let counter = 1;
  const next = () => {
    const t = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + t) | 0;
    return (t >>> 0) / 4_294_967_296;
  };
  for (let i = 0; i < 12; i += 1) next();
  return next;
}
