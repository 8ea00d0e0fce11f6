import { connection } from "next/server";
import { InfraDevError } from "@/lib/contract/errors";
import { failureCsvLimit } from "@/lib/contract/failures-api";
import { failureCsv } from "@/lib/prepare/failure-csv";
import { readFailureFilter, scopeName } from "@/lib/server/failure-request";
import { found, publicText } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { listAllFailures } from "@/lib/server/readers";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respondTo("getFailuresAsCsv", request, async () => {
    const filter = await readFailureFilter(request);
    const { total, failures } = found(await listAllFailures(filter), "suite.unknown", scopeName(filter));
    if (!failures) {
      throw new InfraDevError("too-large", {
        code: "failures.too-many",
        message: `${total} failing cases answer this filter`,
        where: "query",
        rule: `one CSV holds at most ${failureCsvLimit} cases, and never a part of them`,
        remedy: "narrow the filter, for example to one suite, one repository or one type",
      });
    }
    return publicText(request, failureCsv(failures), "text/csv; charset=utf-8; header=present");
  });
}
