import { pgTable, serial, text } from "drizzle-orm/pg-core";
import { instant } from "./columns";

/** Who submits, and who operates hosts. */
export const organizations = pgTable("organization", {
  id: serial("id").primaryKey(),
  slug: text("slug").notNull().unique(),
  name: text("name").notNull(),
  createdAt: instant("created_at").notNull().defaultNow(),
});
