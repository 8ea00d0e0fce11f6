import "server-only";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { woffCoverage } from "./woff-coverage";

/** The fonts' files of the packages, which the renderer takes as WOFF. */
const folder = join(process.cwd(), "node_modules", "@fontsource", "ibm-plex-mono", "files");
const subsets = ["latin", "latin-ext", "cyrillic", "vietnamese"] as const;
const weights = [400, 600] as const;

interface ImageFont {
  name: string;
  data: Buffer;
  weight: (typeof weights)[number];
  style: "normal";
}

let loaded: { fonts: ImageFont[]; covered: ReadonlySet<number> } | undefined;

/** The fonts of share images, and the characters that they have; read once a process. */
export function imageFonts(): { fonts: ImageFont[]; covered: ReadonlySet<number> } {
  if (loaded) return loaded;
  const covered = new Set<number>();
  const fonts = subsets.flatMap((subset) =>
    weights.map((weight): ImageFont => {
      const data = readFileSync(join(folder, `ibm-plex-mono-${subset}-${weight}-normal.woff`));
      for (const code of woffCoverage(data)) covered.add(code);
      return { name: `Plex ${subset}`, data, weight, style: "normal" };
    }),
  );
  loaded = { fonts, covered };
  return loaded;
}

/** The fonts' names in the order in which a glyph is looked for. */
export const imageFontFamily = subsets.map((subset) => `"Plex ${subset}"`).join(", ");

/**
 * A text that the fonts can draw. The renderer would fetch what they lack from another site; so a letter loses the
 * marks that they lack, any other character becomes a box, and what only directs text is left out.
 */
export function drawable(text: string, covered: ReadonlySet<number>): string {
  const has = (character: string) => covered.has(character.codePointAt(0) ?? 0);
  return [...text.normalize("NFC").replaceAll(/[\p{Cf}\p{Cc}]/gu, "")]
    .map((character) => {
      if (character.trim() === "") return " ";
      if (has(character)) return character;
      const bare = character.normalize("NFKD").replaceAll(/\p{M}/gu, "");
      return bare !== "" && [...bare].every(has) ? bare : "□";
    })
    .join("")
    .replaceAll(/□+/g, has("□") ? "□" : "?");
}

/** A name as the fonts can draw it, or its spelling in plain letters where they lack some of its characters. */
export function drawableName(name: string, plain: string, covered: ReadonlySet<number>): string {
  const drawn = drawable(name, covered);
  const isWhole = !/[□?]/.test(drawn) || /[□?]/.test(name);
  return isWhole ? drawn : drawable(plain, covered);
}

/** The first characters of a text, an ellipsis in place of the rest. */
export function cut(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length
    ? text
    : `${characters
        .slice(0, length - 1)
        .join("")
        .trimEnd()}…`;
}
