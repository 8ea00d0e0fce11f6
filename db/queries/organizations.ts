import { eq } from "drizzle-orm";
import type { Writable } from "../client";
import { organizations } from "../schema";

/** The organization of a slug; it is made, with this name, when its slug is new. */
export async function ensureOrganization(
  db: Writable,
  organization: { slug: string; name: string },
): Promise<{ id: number; name: string; created: boolean }> {
  const made = await db.insert(organizations).values(organization).onConflictDoNothing().returning();
  const [row] = await db
    .select({ id: organizations.id, name: organizations.name })
    .from(organizations)
    .where(eq(organizations.slug, organization.slug));
  if (!row) throw new Error(`organization ${organization.slug} vanished`);
  return { ...row, created: made.length > 0 };
}

/** Its id alone. */
export const recordOrganization = async (db: Writable, organization: { slug: string; name: string }): Promise<number> =>
  (await ensureOrganization(db, organization)).id;
