import { connection } from "next/server";
import { uuidSchema } from "@/lib/contract/scalars";
import { badgeSvg } from "@/lib/prepare/badge";
import { found, publicText, respond } from "@/lib/server/http";
import { getEntrySubmission, getSubmission } from "@/lib/server/readers";

/** The badge of a submission by its id, or of an entry by its slug: the entry's newest published submission. */
export async function GET(request: Request, { params }: { params: Promise<{ file: string }> }): Promise<Response> {
  await connection();
  return respond(async () => {
    const { file } = await params;
    const name = file.endsWith(".svg") ? file.slice(0, -".svg".length) : "";
    const id = uuidSchema.safeParse(name).success ? name : await getEntrySubmission(name);
    const { row, suite } = found(id === null ? null : await getSubmission(id), "badge.unknown", file);
    return publicText(request, badgeSvg(row, suite), "image/svg+xml; charset=utf-8");
  });
}
