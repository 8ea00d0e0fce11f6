/** A point to be labelled, in pixels from the top left corner. */
export interface LabelledPoint {
  x: number;
  y: number;
  /** Width of the label's text. */
  width: number;
}

/** Where a label's text starts or ends: `anchor` says which of the two `x` is; `y` is the middle of its line. */
export interface LabelPlace {
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
}

/** Pixels from the top left corner; a line is a box with a side of almost nothing. */
export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const lineHeight = 16;
const markRadius = 6;
const gap = 13;

const overlap = (a: Box, b: Box) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const inside = (a: Box, b: Box) => a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;

const around = (point: LabelledPoint): Box => ({
  left: point.x - markRadius,
  right: point.x + markRadius,
  top: point.y - markRadius,
  bottom: point.y + markRadius,
});

function boxOf(place: LabelPlace, width: number): Box {
  const left = place.x - { start: 0, middle: width / 2, end: width }[place.anchor];
  return { left, right: left + width, top: place.y - lineHeight / 2, bottom: place.y + lineHeight / 2 };
}

/** Places tried in turn: beside the mark, off its corners, then above and below it. */
function candidates({ x, y }: LabelledPoint): LabelPlace[] {
  const beside = [0, -lineHeight * 0.9, lineHeight * 0.9].flatMap((shift): LabelPlace[] => [
    { x: x + gap, y: y + shift, anchor: "start" },
    { x: x - gap, y: y + shift, anchor: "end" },
  ]);
  const stacked = [-lineHeight, lineHeight].flatMap((shift): LabelPlace[] => [
    { x, y: y + shift, anchor: "middle" },
    { x: x + markRadius, y: y + shift, anchor: "end" },
    { x: x - markRadius, y: y + shift, anchor: "start" },
  ]);
  return [...beside, ...stacked];
}

/**
 * Places labels beside their points, in the order given, so that none covers a mark, another label or the edge of
 * `bounds`; among the places left, the one that crosses the fewest of `lines`. Null where a label has no place.
 */
export function placeLabels(
  points: readonly LabelledPoint[],
  bounds: Box,
  lines: readonly Box[] = [],
): (LabelPlace | null)[] {
  const taken: Box[] = points.map(around);
  return points.map((point) => {
    const free = candidates(point)
      .map((place) => ({ place, box: boxOf(place, point.width) }))
      .filter(({ box }) => inside(box, bounds) && !taken.some((other) => overlap(box, other)))
      .map((one, order) => ({ ...one, order, crossed: lines.filter((line) => overlap(one.box, line)).length }))
      .sort((a, b) => a.crossed - b.crossed || a.order - b.order);
    const [best] = free;
    if (!best) return null;
    taken.push(best.box);
    return best.place;
  });
}
