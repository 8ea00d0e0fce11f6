import { eq } from "drizzle-orm";
import type { Queryable } from "../client";
import { organizations } from "../schema";

/** The organization's id; it is made when its slug is new. */
export async function recordOrganization(db: Queryable, organization: { slug: string; name: string }): Promise<number> {
  await db.insert(organizations).values(organization).onConflictDoNothing();
  const [row] = await db
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.slug, organization.slug));
  if (!row) throw new Error(`organization ${organization.slug} vanished`);
  return row.id;
}
