import { z } from "zod";

/** What a person may do beyond reading: an annotator labels failures, a maintainer also decides where labels disagree. */
export const personRoles = ["annotator", "maintainer"] as const;
export type PersonRole = (typeof personRoles)[number];

/** Lengths of passwords, in characters; no other rule. */
export const passwordLength = { min: 12, max: 128 } as const;

export const emailSchema = z
  .email("expected an address such as ada@example.org")
  .max(254)
  .transform((email) => email.toLowerCase());
