function check(attempts: number, passed: number, k: number): void {
  if (![attempts, passed, k].every(Number.isInteger) || k < 1 || k > attempts || passed < 0 || passed > attempts) {
    throw new RangeError(`expected 1 <= k <= attempts and 0 <= passed <= attempts; got k=${k}, ${passed}/${attempts}`);
  }
}

/** Probability that k attempts drawn without replacement from `pool` of `attempts` all come from `pool`. */
function allFrom(pool: number, attempts: number, k: number): number {
  let probability = 1;
  for (let i = 0; i < k; i += 1) probability *= Math.max(0, pool - i) / (attempts - i);
  return probability;
}

/**
 * Unbiased pass@k of one task: the chance that at least one of k of its attempts resolves it.
 * Source: M. Chen et al., "Evaluating large language models trained on code", arXiv:2107.03374, eq. 1.
 */
export function passAtK(attempts: number, passed: number, k: number): number {
  check(attempts, passed, k);
  return 1 - allFrom(attempts - passed, attempts, k);
}

/**
 * Unbiased pass^k of one task: the chance that all of k of its attempts resolve it.
 * Source: S. Yao et al., "tau-bench", arXiv:2406.12045.
 */
export function passHatK(attempts: number, passed: number, k: number): number {
  check(attempts, passed, k);
  return allFrom(passed, attempts, k);
}
