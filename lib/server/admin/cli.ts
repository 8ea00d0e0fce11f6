import "server-only";
import { Command, CommanderError, Option } from "commander";
import { listHosts, listKeys } from "@/db/queries/hosts";
import { listLeases } from "@/db/queries/queue";
import { listSubmissions } from "@/db/queries/submission-admin";
import { InfraDevError } from "@/lib/contract/errors";
import { recomputeSelfTests } from "../self-tests";
import { addAccountCommands } from "./account-commands";
import { command, table } from "./command-line";
import { addVendorKey, endLease, mintToken, revoke, revokeSigningKey, trust } from "./hosts";
import { maintainers, type NamedOrganization, type SaidOrganization } from "./organizations";
import { describeRelabelling, relabel } from "./relabel";
import {
  cancel,
  createPatchSubmission,
  createReferenceSubmissions,
  invalidate,
  publish,
  regrade,
  withdraw,
} from "./submissions";
import { importPackedSuite } from "./suites";

// Node 20 warns on standard error that Ed25519 in WebCrypto is experimental; the API is the final one.
const emitWarning = process.emitWarning.bind(process);
process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
  if (!/Ed25519/.test(String(warning))) (emitWarning as (...all: unknown[]) => void)(warning, ...rest);
}) as typeof process.emitWarning;

const program = new Command("admin")
  .description(
    "Maintainers' command: tokens, hosts, suites, submissions, leases, keys, accounts. Talks to the database directly.",
  )
  .addHelpText(
    "after",
    "\nEvery command takes --json. Exit codes: 0 done, 1 refused (the message names the rule and the remedy), 2 wrong use.",
  )
  .exitOverride()
  // What commander refuses is told as every other refusal is.
  .configureOutput({ outputError: () => {} })
  .configureHelp({ showGlobalOptions: true });

const organizationOf = (options: Record<string, unknown>): SaidOrganization => ({
  slug: (options["organization"] as string | undefined) ?? maintainers,
  name: options["organizationName"] as string | undefined,
});
/** Lines that say whose something is, so that a typo and a forgotten option are seen. */
const describeOrganization = (options: Record<string, unknown>, { slug, name, created }: NamedOrganization) => [
  `  organization: ${slug}${name === slug ? "" : ` (${name})`}${options["organization"] === undefined ? ", since --organization names none" : ""}`,
  ...(created ? [`  made the organization ${slug}`] : []),
];
const withOrganization = (made: Command) =>
  made
    .option("--organization <slug>", `organization, made where it is new; ${maintainers} where left out`)
    .option("--organization-name <name>", "its display name, where --organization names a new one")
    .hook("preAction", () => requireNamedOrganization(made.opts()));

/** A name without a slug would be the maintainers', for good. */
function requireNamedOrganization(options: Record<string, unknown>): void {
  if (options["organizationName"] === undefined || options["organization"] !== undefined) return;
  throw new InfraDevError("invalid", {
    code: "usage.organization",
    message: "--organization-name is given without --organization",
    where: "--organization-name",
    rule: "--organization-name is the display name of the organization that --organization names",
    remedy: "add --organization <slug>, or leave --organization-name out",
  });
}

const token = program.command("token").description("One-time tokens that register hosts");
withOrganization(
  command(token, "mint", "make a token, valid for one hour, for one host", async (context, _args, options) => {
    const minted = await mintToken(context, {
      name: (options["name"] as string | undefined) ?? null,
      trusted: options["trusted"] === true,
      organization: organizationOf(options),
    });
    return {
      json: minted,
      text: [
        minted.token,
        ...describeOrganization(options, minted.organization),
        `  registers one host until ${minted.expiresAt.toISOString()}:`,
        `  npm run runner -- attach --server URL --token ${minted.token}`,
      ].join("\n"),
    };
  })
    .addOption(new Option("--kind <kind>", "what the token registers").choices(["runner"]).default("runner"))
    .option("--name <name>", "name of the host, instead of the one that it gives itself")
    .option("--trusted", "trust the host as soon as it registers"),
);

const host = program.command("host").description("Hosts on which runners are attached");
command(host, "list", "list hosts", async (context) => {
  const hosts = (await listHosts(context.database.sql)).map(({ spki: _spki, ...row }) => row);
  return {
    json: { hosts },
    text: table(
      ["id", "name", "organization", "trust", "runner", "last seen"],
      hosts.map((row) => [
        row.id,
        row.name,
        row.organization,
        row.revoked ? "revoked" : row.trusted ? "trusted" : "not trusted",
        row.runnerVersion,
        row.lastSeenAt.toISOString(),
      ]),
    ),
  };
});
command(host, "trust <id>", "let its sandboxed gradings reach 'verified' from now on", async (context, [id = ""]) => {
  await trust(context, id);
  return { json: { id, trusted: true }, text: `host ${id} is trusted` };
});
command(host, "revoke <id>", "end a host and revoke its key", async (context, [id = ""], options) => {
  await revoke(context, id, String(options["reason"] ?? "revoked by a maintainer"));
  return { json: { id, revoked: true }, text: `host ${id} is revoked` };
}).option("--reason <text>", "kept in the log");

const suite = program.command("suite").description("Suites");
command(suite, "import <file>", "import what 'runner suite pack' wrote", async (context, [file = ""]) => {
  const imported = await importPackedSuite(context, file);
  return {
    json: imported,
    text: `suite ${imported.suite} ${imported.version}: ${imported.tasks} tasks, ${imported.created ? "imported" : "here already; its wording is now the file's"}`,
  };
});

const submission = program.command("submission").description("Submissions and their gradings");
withOrganization(
  command(submission, "create", "submit patches and queue their gradings", async (context, _args, options) => {
    const common = {
      suite: String(options["suite"]),
      version: options["suiteVersion"] as string | undefined,
      ifAbsent: options["ifAbsent"] === true,
    };
    const reference = options["reference"] as string | undefined;
    const patchesDir = options["patches"] as string | undefined;
    const candidateFile = options["candidate"] as string | undefined;
    if ((reference === undefined) === (patchesDir === undefined) || (patchesDir && !candidateFile)) {
      throw new InfraDevError("invalid", {
        code: "usage.submission",
        message: "say what is submitted",
        where: "submission create",
        rule: "either --reference SETS, or --patches DIR with --candidate FILE",
        remedy: "see: npm run admin -- submission create --help",
      });
    }
    const submissions =
      reference === undefined
        ? [
            await createPatchSubmission(context, {
              ...common,
              patchesDir: patchesDir ?? "",
              candidateFile: candidateFile ?? "",
              organization: organizationOf(options),
            }),
          ]
        : await createReferenceSubmissions(context, {
            ...common,
            sets: reference === "all" ? "all" : reference.split(","),
          });
    return {
      json: { submissions },
      text: [
        table(
          ["submission", "name", "", "queued"],
          submissions.map((row) => [row.id, row.name, row.created ? "created" : "here already", String(row.queued)]),
        ),
        ...(submissions[0]?.organization ? describeOrganization(options, submissions[0].organization) : []),
      ].join("\n"),
    };
  })
    .requiredOption("--suite <slug>", "suite")
    .option("--suite-version <version>", "the newest where left out")
    .option("--reference <sets>", "reference patch sets of the suite: all, or names joined by commas")
    .option(
      "--patches <dir>",
      "folder of <task>.diff files, each with its <task>.trajectory.json (ATIF) where there is one",
    )
    .option("--candidate <file>", "JSON document that says who made the patches")
    .option("--if-absent", "leave an equal submission as it is"),
);
command(submission, "list", "list the newest submissions", async (context) => {
  const submissions = await listSubmissions(context.database.sql);
  return {
    json: { submissions },
    text: table(
      ["id", "suite", "entry", "organization", "tier", "attempts", "open jobs", "state"],
      submissions.map((row) => [
        row.id,
        `${row.suite} ${row.version}`,
        row.entry,
        row.organization,
        row.tier ?? "-",
        String(row.attempts),
        String(row.openJobs),
        row.withdrawnAt ? "withdrawn" : row.publishedAt ? "published" : "not published",
      ]),
    ),
  };
});
command(submission, "publish <id>", "put a submission on its board", async (context, [id = ""]) => {
  const { attempted, tasks } = await publish(context, id);
  return {
    json: { id, published: true, attempted, tasks },
    text: `submission ${id} is published, with attempts at ${attempted} of its suite's ${tasks} tasks`,
  };
});
command(submission, "withdraw <id>", "take a submission off every page", async (context, [id = ""], options) => {
  await withdraw(context, id, String(options["reason"]));
  return { json: { id, withdrawn: true }, text: `submission ${id} is withdrawn` };
}).requiredOption("--reason <text>", "kept in the log");
command(submission, "cancel <id>", "cancel its queued and running gradings", async (context, [id = ""]) => {
  const canceled = await cancel(context, id);
  return { json: { id, canceled }, text: `${canceled} gradings are canceled` };
});
command(program, "regrade <submission>", "queue new gradings of its attempts", async (context, [id = ""], options) => {
  const queued = await regrade(context, {
    submissionId: id,
    task: (options["task"] as string | undefined) ?? null,
    reason: String(options["reason"]),
  });
  return { json: { id, queued }, text: `${queued} gradings are queued` };
})
  .option("--task <slug>", "only this task")
  .requiredOption("--reason <text>", "kept in the log");

const grading = program.command("grading").description("Gradings");
command(grading, "invalidate <id>", "take a grading out of the scoring", async (context, [id = ""], options) => {
  await invalidate(context, id, String(options["reason"]));
  return { json: { id, invalidated: true }, text: `grading ${id} no longer counts` };
}).requiredOption("--reason <text>", "kept in the log");

command(program, "relabel", "label every kept failure by the rules in force", async (context, _args, options) => {
  const report = await relabel(context, { dryRun: options["dryRun"] === true });
  const { summary, header, rows } = describeRelabelling(report);
  return { json: report, text: `${table(header, rows)}\n${summary}` };
}).option("--dry-run", "say what would change and write nothing");

command(program, "self-tests", "read again what each attempt's own tests and commands check", async (context) => {
  const report = await recomputeSelfTests(context);
  const { attempts, notRead, trajectories, unreadTrajectories, rulesVersion } = report;
  const unread = `${notRead} patches and ${unreadTrajectories} trajectories could not be read`;
  return {
    json: report,
    text: `${attempts} attempts, ${trajectories} with a trajectory, under rules ${rulesVersion}; ${unread}`,
  };
});

const lease = program.command("lease").description("Leases");
command(lease, "list", "list active leases", async (context, _args, options) => {
  const leases = await listLeases(context.database.sql, { all: options["all"] === true });
  return {
    json: { leases },
    text: table(
      ["id", "state", "job", "host", "task", "progress", "expires"],
      leases.map((row) => [
        row.id,
        row.state,
        row.jobState,
        row.host,
        `${row.suite}/${row.task}`,
        row.progress ?? "-",
        row.expiresAt.toISOString(),
      ]),
    ),
  };
}).option("--all", "ended ones too");
command(lease, "end <id>", "end a lease; its job goes back into the queue", async (context, [id = ""]) => {
  const ended = await endLease(context, id);
  return { json: { id, ...ended }, text: `lease ${id} is over; its job: ${ended.job}` };
});

const key = program.command("key").description("Public keys");
withOrganization(
  command(
    key,
    "add <file>",
    "register a vendor's public key (PEM or base64 SPKI)",
    async (context, [file = ""], options) => {
      const added = await addVendorKey(context, {
        file,
        owner: (options["owner"] as string | undefined) ?? null,
        organization: organizationOf(options),
        validUntil: dateOf(options["validUntil"], "--valid-until"),
      });
      return {
        json: added,
        text: [
          `${added.keyid} ${added.created ? "is registered" : "was registered already"}, as the key of ${added.owner}`,
          ...describeOrganization(options, added.organization),
        ].join("\n"),
      };
    },
  )
    .option("--owner <name>", "whose key it is, as published; the organization's name where left out")
    .option("--valid-until <time>", "end of its window, RFC 3339"),
);
command(key, "list", "list every key that ever counted", async (context) => {
  const keys = (await listKeys(context.database.sql)).map(({ spki: _spki, ...row }) => row);
  return {
    json: { keys },
    text: table(
      ["keyid", "role", "owner", "organization", "from", "until", "revoked"],
      keys.map((row) => [
        row.keyid,
        row.role,
        row.owner,
        row.organization ?? "-",
        row.validFrom.toISOString(),
        row.validUntil?.toISOString() ?? "-",
        row.revokedAt?.toISOString() ?? "-",
      ]),
    ),
  };
});
command(key, "revoke <keyid>", "revoke a key", async (context, [keyid = ""], options) => {
  const revoked = await revokeSigningKey(context, {
    keyid,
    compromisedSince: dateOf(options["compromisedSince"], "--compromised-since"),
    reason: String(options["reason"]),
  });
  return { json: { keyid, ...revoked }, text: `${keyid} is revoked; ${revoked.invalidated} gradings no longer count` };
})
  .option("--compromised-since <time>", "signatures received from then on do not count, RFC 3339")
  .requiredOption("--reason <text>", "kept in the log");

addAccountCommands(program);

function dateOf(value: unknown, option: string): Date | null {
  if (value === undefined) return null;
  const date = new Date(String(value));
  if (!Number.isNaN(date.getTime()) && /^\d{4}-\d\d-\d\d/.test(String(value))) return date;
  throw new InfraDevError("invalid", {
    code: "usage.time",
    message: `'${String(value)}' is no time`,
    where: option,
    rule: "times are RFC 3339, for example 2027-01-31T12:00:00Z",
    remedy: "write the time in that form",
  });
}

try {
  await program.parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error);
}

function report(thrown: unknown): number {
  // Asking for help is no mistake; leaving the command out prints it too.
  if (thrown instanceof CommanderError && (thrown.exitCode === 0 || thrown.code === "commander.help"))
    return thrown.exitCode === 0 ? 0 : 2;
  const error = refusalOf(thrown);
  if (error) {
    const asJson = process.argv.includes("--json");
    process.stderr.write(asJson ? `${JSON.stringify({ error: error.problem })}\n` : `${error.describe()}\n`);
    return error.code.startsWith("usage.") ? 2 : 1;
  }
  process.stderr.write(`unexpected failure: ${(thrown as Error).message}\n${(thrown as Error).stack ?? ""}\n`);
  return 70;
}

/** What was thrown as a refusal; null where it is a defect. */
function refusalOf(thrown: unknown): InfraDevError | null {
  if (thrown instanceof InfraDevError) return thrown;
  if (thrown instanceof CommanderError) {
    const [group, name] = process.argv.slice(2);
    const known = program.commands.find((one) => one.name() === group);
    const path = [known, known?.commands.find((one) => one.name() === name)].flatMap((one) => one?.name() ?? []);
    return new InfraDevError("invalid", {
      code: "usage.command",
      message: thrown.message.replace(/^error: /, ""),
      where: ["admin", ...path].join(" "),
      rule: "each command takes the arguments and options that its help lists",
      remedy: `see: npm run admin -- ${[...path, "--help"].join(" ")}`,
    });
  }
  const { code } = thrown as NodeJS.ErrnoException;
  if (code !== "ECONNREFUSED" && code !== "CONNECT_TIMEOUT" && code !== "ENOTFOUND") return null;
  return new InfraDevError("unavailable", {
    code: "database.unreachable",
    message: `the database cannot be reached (${code})`,
    where: "DATABASE_URL",
    rule: "the command talks to the database of DATABASE_URL, else to the embedded one",
    remedy: "start it with 'npm run db -- start', or correct DATABASE_URL",
  });
}
