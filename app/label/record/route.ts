import { InfraDevError } from "@/lib/contract/errors";
import { type LabelAnswer, labelFormSchema } from "@/lib/contract/labels-api";
import { ownPath, parseForm, requireOwnOrigin, seeOther } from "@/lib/server/accounts/forms";
import { requirePerson } from "@/lib/server/accounts/session";
import { getServerContext } from "@/lib/server/context";
import { json, respond } from "@/lib/server/http";
import { giveLabel } from "@/lib/server/labels";

/** Takes a label from the form, and goes on to the next failure; a script gets JSON. */
export function POST(request: Request): Promise<Response> {
  return respond(async () => {
    requireOwnOrigin(request);
    const context = await getServerContext();
    const person = await requirePerson(context, request, ["annotator", "maintainer"]);
    const form = await parseForm(request, labelFormSchema);
    if (form.adjudicate === "yes") await requirePerson(context, request, ["maintainer"]);
    const next = ownPath(form.next, "/label");
    const byScript = request.headers.get("accept") === "application/json";
    try {
      const answer: LabelAnswer = { labelled: await giveLabel(context, person, form), next };
      return byScript ? json(answer) : seeOther(next);
    } catch (error) {
      // Words that are not in the message are a slip of the reader: the page says so beside the form.
      if (byScript || !(error instanceof InfraDevError) || error.code !== "labels.quote") throw error;
      const here = new URL(ownPath(form.here, "/label"), "http://here");
      here.searchParams.set("problem", "quote");
      return seeOther(`${here.pathname}${here.search}`);
    }
  });
}
