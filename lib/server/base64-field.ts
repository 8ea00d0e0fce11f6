import "server-only";
import { InfraDevError } from "@/lib/contract/errors";
import { fromBase64 } from "@/lib/evidence/bytes";

/** Bytes of a field that is base64. Throws `request.invalid` where it is not spelled canonically. */
export function base64Field(text: string, where: string): Uint8Array {
  try {
    return fromBase64(text);
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "request.invalid",
        message: "the field is not canonical base64",
        where,
        rule: "bytes are sent in padded, canonical base64",
        remedy: "encode the bytes again",
      },
      { cause },
    );
  }
}
