import { connection } from "next/server";
import { serverEnv } from "@/lib/server/env";
import { atomFeed } from "@/lib/server/feed";
import { publicText, respond } from "@/lib/server/http";
import { listRecentChanges } from "@/lib/server/readers";
import { siteUrl } from "@/lib/server/site-url";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => {
    const feed = atomFeed(await listRecentChanges(), { serverName: serverEnv().serverName, site: siteUrl(request) });
    return publicText(request, feed, "application/atom+xml; charset=utf-8");
  });
}
