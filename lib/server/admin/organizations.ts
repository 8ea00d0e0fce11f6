import "server-only";
import type { Writable } from "@/db/client";
import { ensureOrganization } from "@/db/queries/organizations";
import { InfraDevError } from "@/lib/contract/errors";
import { displayNameSchema, slugSchema } from "@/lib/contract/scalars";
import { parseWith } from "../http";

/** What a command says of an organization: its slug, and its name where that is said. */
export type SaidOrganization = { slug: string; name?: string | undefined };
export type NamedOrganization = { id: number; slug: string; name: string; created: boolean };

/** Whose everything is that names no organization. */
export const maintainers = "maintainers";

/** The organization that a command names, made where it is new. Throws `organization.slug`, `.name` or `.other-name`. */
export async function nameOrganization(db: Writable, said: SaidOrganization): Promise<NamedOrganization> {
  const slug = parseWith(slugSchema, said.slug, {
    code: "organization.slug",
    what: `the organization '${said.slug}'`,
    where: "--organization",
    rule: "an organization is named by a slug: at most 80 lowercase letters and digits joined by '-' or '.'",
    remedy: "name it so; --organization-name says how it is displayed",
  });
  const name = said.name === undefined ? undefined : parseName(said.name, "--organization-name");
  const known = await ensureOrganization(db, {
    slug,
    name: name ?? (slug === maintainers ? "Maintainers" : slug),
  });
  if (name !== undefined && name !== known.name) {
    throw new InfraDevError("conflict", {
      code: "organization.other-name",
      message: `the organization '${slug}' is here already, by the name '${known.name}'`,
      where: "--organization-name",
      rule: "an organization keeps the name that it was made with",
      remedy: "leave --organization-name out, or name another --organization",
    });
  }
  return { slug, ...known };
}

/** A name that the site shows. Throws `usage.name`, naming the option. */
export const parseName = (name: string, option: string): string =>
  parseWith(displayNameSchema, name, {
    code: "usage.name",
    what: "the name",
    where: option,
    rule: "names have 1 to 120 characters, no control characters and no line breaks",
    remedy: "correct the name",
  });
