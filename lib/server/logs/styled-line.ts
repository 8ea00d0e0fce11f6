import "server-only";
import Anser from "anser";
import { colourSequence, visibleText } from "@/lib/format/visible-text";

/** A piece of a line with the classes that dress it; never markup, style or address. */
export interface StyledPiece {
  text: string;
  classes: string[];
}

const shownControls = /([\u2400-\u241f\u2421]|<U\+[0-9A-F]{4,6}>)/;

const colours = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
const decorations = new Map([
  ["bold", "ansi-bold"],
  ["dim", "ansi-dim"],
  ["italic", "ansi-italic"],
  ["underline", "ansi-underline"],
  ["strikethrough", "ansi-struck"],
]);

/**
 * A line of a log as pieces: colours and weights of ANSI sequences become classes, and everything else that a terminal
 * would act on (cursor moves, links, titles) is shown as text. Text that asks to be hidden is shown.
 */
export function styledLine(text: string): StyledPiece[] {
  const pieces: StyledPiece[] = [];
  for (const { source, dressed } of dressedText(text)) {
    for (const part of source.split(shownControls)) {
      if (part === "") continue;
      pieces.push({ text: part, classes: shownControls.test(part) ? [...dressed, "log-control"] : dressed });
    }
  }
  return pieces;
}

function dressedText(text: string): { source: string; dressed: string[] }[] {
  const sequences = text.match(colourSequence) ?? [];
  const plain = text.split(colourSequence).map(visibleText);
  if (sequences.length === 0) return plain.map((source) => ({ source, dressed: [] }));
  const safe = plain.map((part, index) => part + (sequences[index] ?? "")).join("");
  return Anser.ansiToJson(safe, { json: true, use_classes: true, remove_empty: true }).map((piece) => {
    const ink = colourOf(piece.fg, piece.fg_truecolor);
    const ground = colourOf(piece.bg, piece.bg_truecolor);
    return {
      source: piece.content,
      dressed: [
        ...(ink ? [`ansi-${ink}`] : []),
        ...(ground ? [`ansi-on-${ground}`] : []),
        ...piece.decorations.flatMap((name) => decorations.get(name) ?? []),
      ],
    };
  });
}

type Colour = (typeof colours)[number];

/** The nearest of the eight colours that the site has a class for; none for greys, which read as plain text. */
function colourOf(name: string | null, trueColour: string | null): Colour | null {
  if (!name) return null;
  const known = colours.find((colour) => name === `ansi-${colour}` || name === `ansi-bright-${colour}`);
  if (known) return known;
  const palette = /^ansi-palette-(\d+)$/.exec(name);
  if (palette) return nearest(paletteColour(Number(palette[1])));
  const [red = 0, green = 0, blue = 0] = (trueColour ?? "").split(",").map(Number);
  return nearest([red, green, blue]);
}

type Rgb = readonly [red: number, green: number, blue: number];

/** Colours 16 to 231 of the 256 are a cube of six steps a side, the rest greys. */
function paletteColour(index: number): Rgb {
  if (index > 231) return [0, 0, 0];
  const cube = index - 16;
  const level = (step: number) => (step === 0 ? 0 : 55 + 40 * step);
  return [level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)];
}

/** By which of red, green and blue stand out. */
function nearest([red, green, blue]: Rgb): Colour | null {
  const high = Math.max(red, green, blue);
  const low = Math.min(red, green, blue);
  if (high - low <= high / 4) return null;
  const stands = (part: number) => part > (high + low) / 2;
  const bits = (stands(red) ? 1 : 0) | (stands(green) ? 2 : 0) | (stands(blue) ? 4 : 0);
  return colours[bits] ?? null;
}
