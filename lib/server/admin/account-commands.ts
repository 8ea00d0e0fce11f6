import "server-only";
import type { Command } from "commander";
import { type PersonRole, personRoles } from "@/lib/contract/accounts";
import { InfraDevError } from "@/lib/contract/errors";
import { createAccount, grantRole, listAccounts, resetPassword, revokeRole } from "../accounts/manage";
import { command, table } from "./command-line";
import { parseName } from "./organizations";

/** `account create`, `list`, `grant`, `revoke`, `reset`. */
export function addAccountCommands(program: Command): void {
  const account = program.command("account").description("People who may sign in, and their roles");
  command(
    account,
    "create <email>",
    "make an account; its password is shown once",
    async (context, [email = ""], options) => {
      const made = await createAccount(context, {
        email,
        name: options["name"] === undefined ? null : parseName(String(options["name"]), "--name"),
        role: options["role"] === undefined ? null : roleOf(String(options["role"])),
      });
      return {
        json: made,
        text: `${made.email} may sign in as ${made.role ?? "reader"}\n  public name: ${made.pseudonym}\n  password:    ${made.password}`,
      };
    },
  )
    .option("--role <role>", "annotator or maintainer; none where left out")
    .option("--name <name>", "name, seen by the person alone");
  command(account, "list", "list accounts", async (context) => {
    const accounts = await listAccounts(context);
    return {
      json: { accounts },
      text: table(
        ["email", "public name", "role", "created", "signed in"],
        accounts.map((row) => [
          row.email,
          row.pseudonym,
          row.role ?? "-",
          row.createdAt.toISOString(),
          row.signedInAt?.toISOString() ?? "-",
        ]),
      ),
    };
  });
  command(
    account,
    "grant <email> <role>",
    "let a person label (annotator) or decide (maintainer)",
    async (context, args) => {
      const [email = "", role = ""] = args;
      const granted = roleOf(role);
      await grantRole(context, email, granted);
      return { json: { email, role: granted }, text: `${email} is ${granted}` };
    },
  );
  command(account, "revoke <email>", "take the role away and end every session", async (context, [email = ""]) => {
    await revokeRole(context, email);
    return { json: { email, role: null }, text: `${email} has no role; what it labelled stays` };
  });
  command(account, "reset <email>", "give a new password and end every session", async (context, [email = ""]) => {
    const reset = await resetPassword(context, email);
    return { json: reset, text: `${reset.email}\n  password: ${reset.password}` };
  });
}

const roleOf = (role: string): PersonRole => {
  const known = personRoles.find((word) => word === role);
  if (known) return known;
  throw new InfraDevError("invalid", {
    code: "usage.role",
    message: `'${role}' is no role`,
    where: "role",
    rule: `roles are ${personRoles.join(" and ")}`,
    remedy: "name one of them",
  });
};
