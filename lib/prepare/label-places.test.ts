import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeLabels } from "./label-places";

const bounds = { left: 0, right: 300, top: 0, bottom: 200 };

describe("labels", () => {
  it("stand right of their point, and left of it at the right edge", () => {
    expect(placeLabels([{ x: 100, y: 100, width: 60 }], bounds)).toEqual([{ x: 113, y: 100, anchor: "start" }]);
    expect(placeLabels([{ x: 280, y: 100, width: 60 }], bounds)).toEqual([{ x: 267, y: 100, anchor: "end" }]);
  });

  it("avoid lines where they can", () => {
    const wall = { left: 129, right: 131, top: 10, bottom: 190 };
    expect(placeLabels([{ x: 100, y: 100, width: 60 }], bounds, [wall])[0]?.anchor).toBe("end");
    expect(placeLabels([{ x: 20, y: 100, width: 120 }], bounds, [wall])[0]).toEqual({ x: 33, y: 100, anchor: "start" });
  });

  it("are left out where there is no room", () => {
    expect(placeLabels([{ x: 150, y: 100, width: 310 }], bounds)).toEqual([null]);
  });

  it("never cover a mark, one another or the edge", () => {
    const point = fc.record({
      x: fc.integer({ min: 0, max: 300 }),
      y: fc.integer({ min: 0, max: 200 }),
      width: fc.integer({ min: 10, max: 120 }),
    });
    fc.assert(
      fc.property(fc.array(point, { maxLength: 14 }), (points) => {
        const boxes = placeLabels(points, bounds).flatMap((place, index) => {
          const width = points[index]?.width ?? 0;
          if (!place) return [];
          const left = place.x - { start: 0, middle: width / 2, end: width }[place.anchor];
          return [{ left, right: left + width, top: place.y - 8, bottom: place.y + 8 }];
        });
        for (const [index, box] of boxes.entries()) {
          expect(box.left >= 0 && box.right <= 300 && box.top >= 0 && box.bottom <= 200).toBe(true);
          for (const { x, y } of points) {
            expect(box.left < x && x < box.right && box.top < y && y < box.bottom).toBe(false);
          }
          for (const other of boxes.slice(index + 1)) {
            const apart =
              other.right <= box.left || box.right <= other.left || other.bottom <= box.top || box.bottom <= other.top;
            expect(apart).toBe(true);
          }
        }
      }),
    );
  });
});
