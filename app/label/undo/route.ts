import { z } from "zod";
import { labelHref, parseLabelView } from "@/lib/prepare/label-view";
import { ownPath, parseForm, requireOwnOrigin, seeOther } from "@/lib/server/accounts/forms";
import { requirePerson } from "@/lib/server/accounts/session";
import { getServerContext } from "@/lib/server/context";
import { json, respond } from "@/lib/server/http";
import { takeBackLabel } from "@/lib/server/labels";

const formSchema = z.object({ here: z.string().max(2000).optional() });

/** Takes the person's newest act back, and goes to the failure that it began with; a script gets JSON. */
export function POST(request: Request): Promise<Response> {
  return respond(async () => {
    requireOwnOrigin(request);
    const context = await getServerContext();
    const person = await requirePerson(context, request, ["annotator", "maintainer"]);
    const { here } = await parseForm(request, formSchema);
    const { filter } = parseLabelView(new URL(ownPath(here, "/label"), "http://here").searchParams);
    const address = await takeBackLabel(context, person);
    const next = labelHref({ filter, at: address, adjudicate: false });
    if (request.headers.get("accept") === "application/json") return json({ labelled: address ? 1 : 0, next });
    return seeOther(next);
  });
}
