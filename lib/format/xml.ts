/** Characters that XML 1.0 has no place for, or that nobody means in a text. */
const unfit = /[^\P{Cc}\t\n\r]|\p{Cs}|[\ufffe\uffff]/gu;

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text for an XML document's content or attributes. */
export function xmlText(text: string): string {
  return text.replaceAll(unfit, "").replaceAll(/[&<>"']/g, (found) => entities[found] ?? found);
}
