import { found, publicText } from "@/lib/server/http";

/** A share image under the name that was asked for, or a 404 that names it. */
export function sendImage(request: Request, image: Uint8Array<ArrayBuffer> | null, name: string): Response {
  return publicText(request, found(image, "image.unknown", name), "image/png");
}

/** What a file's name says besides its ending; empty where it has another. */
export const pngName = (file: string) => (file.endsWith(".png") ? file.slice(0, -".png".length) : "");
