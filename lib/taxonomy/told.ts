/** Texts that come before what an error says: source code, a command line, two records of which only a part differs. */
const preambles: readonly { begins: RegExp; ends: RegExp }[] = [
  // Triton quotes the kernel, up to a caret below the place.
  { begins: /^at \d+:\d+:\n/, ends: /\n[ \t]*\^[ \t]*(?:\n|$)/g },
  {
    begins: /^Command /,
    ends: /returned non-zero exit status -?\d+\.?|died with <Signals[^>\n]{0,60}>\.?|timed out after [\d.]+ seconds/g,
  },
  // torch compares what each rank calls.
  { begins: /^Detected mismatch between collectives/, ends: /differ in the following aspects:/g },
  // torch's compiler quotes the call with its fake tensors.
  { begins: /^(?:Dynamo failed|Failed running) /, ends: /\bgot (?=\w+\()|\):\n/g },
];

/** Where a message begins to say what is wrong, behind what it only quotes. */
export function toldFrom(message: string): number {
  const preamble = preambles.find(({ begins }) => begins.test(message));
  const end = preamble && [...message.matchAll(preamble.ends)].at(preamble.begins.source.startsWith("^at") ? -1 : 0);
  return end ? end.index + end[0].length : 0;
}
