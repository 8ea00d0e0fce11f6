const namespace = "http://www.w3.org/2000/svg";
const margin = 20;
const family = "'IBM Plex Sans', Helvetica, Arial, sans-serif";

/** What a chart's look consists of, as a file needs it: no stylesheet goes with it. */
const styled = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "stroke-opacity",
  "opacity",
  "paint-order",
  "font-size",
  "font-weight",
  "text-anchor",
] as const;
/** Attributes that say where things are; what would lead or style elsewhere stays behind. */
const placed = /^(?:[xyrd]|[xy][12]|c[xy]|r[xy]|d[xy]|width|height|points|transform|viewBox)$/;
const drawn = new Set(["g", "path", "line", "rect", "circle", "text", "tspan", "polyline", "polygon"]);

/** Programs that draw SVG files do not all know colours with transparency. */
const opaque = (value: string) => (/^rgba\(.*, 0\)$/.test(value) ? "none" : value);

function copy(element: Element): SVGElement | null {
  const name = element.tagName.toLowerCase();
  // links are drawn as what they hold
  if (name !== "a" && name !== "svg" && !drawn.has(name)) return null;
  const own = document.createElementNS(namespace, name === "a" || name === "svg" ? "g" : name);
  for (const { name: attribute, value } of element.attributes)
    if (placed.test(attribute) && name !== "svg") own.setAttribute(attribute, value);
  const style = getComputedStyle(element);
  for (const property of styled) own.setAttribute(property, opaque(style.getPropertyValue(property)));
  for (const child of element.childNodes) {
    if (child instanceof Element) {
      const inner = copy(child);
      if (inner) own.append(inner);
    } else if (child.nodeType === Node.TEXT_NODE) own.append(child.textContent ?? "");
  }
  return own;
}

function textLine(words: string, y: number, size: number, color: string, weight = "400"): SVGElement {
  const text = document.createElementNS(namespace, "text");
  for (const [name, value] of Object.entries({ x: 0, y, "font-size": size, fill: color, "font-weight": weight }))
    text.setAttribute(name, String(value));
  text.append(words);
  return text;
}

export interface ChartWords {
  title: string;
  /** Title of the vertical axis, which stands above the chart. */
  yTitle: string;
  source: string;
}

/** A drawn chart as a file of its own, in the colours that it has on the page, with title and source. */
export function chartFile(chart: SVGSVGElement, words: ChartWords): { svg: string; width: number; height: number } {
  const { width, height } = chart.getBoundingClientRect();
  const style = getComputedStyle(document.body);
  const ground = getComputedStyle(document.documentElement).backgroundColor;
  const top = 54;
  const whole = { width: Math.ceil(width + 2 * margin), height: Math.ceil(height + top + 24 + 2 * margin) };
  const root = document.createElementNS(namespace, "svg");
  for (const [name, value] of Object.entries({
    ...whole,
    viewBox: `${-margin} ${-margin} ${whole.width} ${whole.height}`,
    "font-family": family,
    role: "img",
    "aria-label": words.title,
  }))
    root.setAttribute(name, String(value));
  const back = document.createElementNS(namespace, "rect");
  for (const [name, value] of Object.entries({ x: -margin, y: -margin, ...whole, fill: ground }))
    back.setAttribute(name, String(value));
  const body = copy(chart);
  body?.setAttribute("transform", `translate(0 ${top})`);
  root.append(
    back,
    textLine(words.title, 14, 16, style.color, "600"),
    textLine(words.yTitle, 42, 12.5, style.color),
    ...(body ? [body] : []),
    textLine(words.source, top + height + 20, 11, style.color),
  );
  return { svg: new XMLSerializer().serializeToString(root), ...whole };
}

/** Twice as many pixels as the chart has on the page. */
const density = 2;

/** The same file drawn as PNG. */
export async function chartPng(file: { svg: string; width: number; height: number }): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([file.svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = density * file.width;
    canvas.height = density * file.height;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the canvas gave no image"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}
