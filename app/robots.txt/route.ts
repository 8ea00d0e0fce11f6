import { connection } from "next/server";
import { publicText, respond } from "@/lib/server/http";
import { siteUrl } from "@/lib/server/site-url";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () =>
    publicText(
      request,
      `User-agent: *\nDisallow: /api/runner/\nDisallow: /api/internal/\nDisallow: /account\n\nSitemap: ${siteUrl(request)}/sitemap.xml\n`,
      "text/plain; charset=utf-8",
    ),
  );
}
