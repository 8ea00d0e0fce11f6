// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about
const controls = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
/** Characters that are not seen and change what is: C1 controls, directions, joiners, tags, other line ends. */
const invisible =
  /[\u0080-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/**
 * Text of somebody else's with every character that a terminal or a browser would act on written as a sign: control
 * pictures such as `␛`, and `<U+202E>` for what is not seen. Tabs and line ends stay.
 */
export function visibleText(text: string): string {
  return text
    .replaceAll(controls, (sign) => (sign === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + sign.charCodeAt(0))))
    .replaceAll(
      invisible,
      (sign) => `<U+${(sign.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0")}>`,
    );
}

/** Sequences by which a terminal changes colour and weight (SGR of ECMA-48), and nothing else that it acts on. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about
export const colourSequence = /\u001b\[[\d;]*m/g;
