import { stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { problemResponseSchema } from "@/lib/contract/errors";
import { createAccount, grantRole, listAccounts, resetPassword, revokeRole } from "@/lib/server/accounts/manage";
import { loadAuthSecret } from "@/lib/server/accounts/secret";
import { findPerson, requirePerson } from "@/lib/server/accounts/session";
import { signInLimits } from "@/lib/server/accounts/sign-in";
import type { ServerContext } from "@/lib/server/context";
import { startTestServer, type TestServer } from "@/lib/server/testing";
import { POST as changePassword } from "./password/route";
import { POST as signOut } from "./session/end/route";
import { POST as signIn } from "./session/route";

const origin = "http://bench.test";
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer(inject("testServerUrl"));
  (globalThis as { infradevContext?: Promise<ServerContext> }).infradevContext = Promise.resolve(server);
});
afterAll(async () => {
  delete (globalThis as { infradevContext?: Promise<ServerContext> }).infradevContext;
  await server.close();
});

function form(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Request {
  return new Request(`${origin}${path}`, {
    method: "POST",
    headers: { host: "bench.test", origin, "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(fields),
  });
}

const cookieOf = (answer: Response) =>
  answer.headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");

async function signedIn(email: string, password: string): Promise<string> {
  const answer = await signIn(form("/account/session", { email, password }));
  expect(answer.headers.get("location")).toBe("/label");
  return cookieOf(answer);
}

const headersOf = (cookie: string) => new Headers({ cookie });

describe("signing in", () => {
  it("gives a cookie that scripts cannot read and that other sites' forms do not carry", async () => {
    const made = await createAccount(server, { email: "Ada@Example.org", name: null, role: "annotator" });
    const answer = await signIn(
      form("/account/session", { email: "ADA@example.org", password: made.password, next: "/label?type=resource" }),
    );
    expect(answer.status).toBe(303);
    expect(answer.headers.get("location")).toBe("/label?type=resource");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const [cookie = ""] = answer.headers.getSetCookie();
    expect(cookie).toMatch(/HttpOnly/i);
    expect(cookie).toMatch(/SameSite=Lax/i);
    expect(await findPerson(server, headersOf(cookieOf(answer)))).toMatchObject({
      email: "ada@example.org",
      pseudonym: made.pseudonym,
      role: "annotator",
    });
  });

  it("marks the cookie Secure where the request came by https", async () => {
    const { email, password } = await createAccount(server, { email: "tls@example.org", name: null, role: null });
    const plain = await signIn(form("/account/session", { email, password }));
    const secure = await signIn(
      form("/account/session", { email, password }, { origin: "https://bench.test", "x-forwarded-proto": "https" }),
    );
    expect(plain.headers.getSetCookie().join()).not.toMatch(/; Secure/i);
    expect(secure.headers.getSetCookie().join()).toMatch(/; Secure/i);
  });

  it("answers a wrong password and an unknown address alike", async () => {
    const { email } = await createAccount(server, { email: "bob@example.org", name: null, role: null });
    for (const address of [email, "nobody@example.org", "not an address"]) {
      const answer = await signIn(form("/account/session", { email: address, password: "wrong-wrong-wrong" }));
      expect(answer.status).toBe(303);
      expect(answer.headers.get("location")).toBe("/account/sign-in?error=refused&next=%2Flabel");
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
  });

  it("refuses forms of other sites, and such that do not say where they come from", async () => {
    const headers: Record<string, string>[] = [{ origin: "https://evil.test" }, { origin: "null" }];
    for (const header of headers)
      for (const route of [signIn, signOut, changePassword]) {
        const answer = await route(form("/account/session", { email: "a@example.org", password: "x" }, header));
        expect(answer.status).toBe(403);
        expect(problemResponseSchema.parse(await answer.json()).error.code).toBe("request.foreign-origin");
      }
    const silent = form("/account/session", {});
    silent.headers.delete("origin");
    expect((await signIn(silent)).status).toBe(403);
  });

  it("goes nowhere but to pages of this site", async () => {
    const { email, password } = await createAccount(server, { email: "next@example.org", name: null, role: null });
    for (const next of [
      "//evil.test",
      "https://evil.test/label",
      "/label\\@evil.test",
      "/label\nx: y",
      "/api/v1/board",
    ]) {
      const answer = await signIn(form("/account/session", { email, password, next }));
      expect(answer.headers.get("location")).toBe("/label");
    }
  });

  it("stops after too many attempts on one account, whatever address they come from; right ones too", async () => {
    const { email, password } = await createAccount(server, { email: "tried@example.org", name: null, role: null });
    const attempt = (given: string, from: number) =>
      signIn(form("/account/session", { email, password: given }, { "x-forwarded-for": `192.0.2.${from}` }));
    const answers = await Promise.all(
      Array.from({ length: signInLimits.account.limit + 2 }, (_, from) => attempt("wrong-wrong-wrong", from)),
    );
    const tooMany = answers.filter((answer) => answer.headers.get("location")?.includes("error=too-many"));
    expect(tooMany).toHaveLength(2);
    expect((await attempt(password, 99)).headers.get("location")).toContain("error=too-many");
    await server.database.sql`
      update sign_in_window set started_at = started_at - make_interval(secs => ${signInLimits.account.seconds + 1})`;
    expect((await attempt(password, 99)).headers.get("location")).toBe("/label");
  });
});

describe("a session", () => {
  it("ends when the person signs out", async () => {
    const { email, password } = await createAccount(server, { email: "out@example.org", name: null, role: null });
    const cookie = await signedIn(email, password);
    const answer = await signOut(form("/account/session/end", {}, { cookie }));
    expect(answer.status).toBe(303);
    expect(answer.headers.getSetCookie().join()).toMatch(/session_token=;.*Max-Age=0/i);
    expect(await findPerson(server, headersOf(cookie))).toBeNull();
  });

  it("is not made up: a cookie that this site did not sign names nobody", async () => {
    expect(await findPerson(server, headersOf("infradev.session_token=abc.def"))).toBeNull();
    expect(await findPerson(server, new Headers())).toBeNull();
  });

  it("is over after seven days", async () => {
    const { email, password } = await createAccount(server, { email: "old@example.org", name: null, role: null });
    const cookie = await signedIn(email, password);
    await server.database.sql`update person_session set expires_at = now() - interval '1 second'`;
    expect(await findPerson(server, headersOf(cookie))).toBeNull();
  });

  it("takes a new password from who knows the present one, and ends the others", async () => {
    const { email, password } = await createAccount(server, { email: "change@example.org", name: null, role: null });
    const [here, elsewhere] = [await signedIn(email, password), await signedIn(email, password)];
    const change = (current: string, next: string) =>
      changePassword(form("/account/password", { current, next }, { cookie: here }));
    expect((await change("wrong-wrong-wrong", "a new password")).headers.get("location")).toBe(
      "/account?error=password",
    );
    expect((await change(password, "short")).headers.get("location")).toBe("/account?error=length");
    const changed = await change(password, "a new password");
    expect(changed.headers.get("location")).toBe("/account?done=password");
    expect(await findPerson(server, headersOf(elsewhere))).toBeNull();
    expect(await findPerson(server, headersOf(cookieOf(changed)))).toMatchObject({ email });
    await signedIn(email, "a new password");
  });
});

describe("accounts", () => {
  const request = (cookie: string) => new Request(origin, { headers: { cookie } });

  it("hold roles that a grant gives and a revocation takes at once, with every session", async () => {
    const { email, password } = await createAccount(server, { email: "role@example.org", name: null, role: null });
    const cookie = await signedIn(email, password);
    await expect(requirePerson(server, request(cookie), ["annotator", "maintainer"])).rejects.toMatchObject({
      code: "accounts.role",
      httpStatus: 403,
    });
    await grantRole(server, email, "annotator");
    expect(await requirePerson(server, request(cookie), ["annotator"])).toMatchObject({ role: "annotator" });
    await expect(requirePerson(server, request(cookie), ["maintainer"])).rejects.toMatchObject({
      code: "accounts.role",
    });
    await revokeRole(server, email);
    await expect(requirePerson(server, request(cookie), ["annotator"])).rejects.toMatchObject({
      code: "accounts.signed-out",
      httpStatus: 401,
    });
  });

  it("get a new password that ends every session", async () => {
    const made = await createAccount(server, { email: "reset@example.org", name: null, role: "maintainer" });
    const cookie = await signedIn(made.email, made.password);
    const reset = await resetPassword(server, made.email);
    expect(await findPerson(server, headersOf(cookie))).toBeNull();
    await signedIn(made.email, reset.password);
  });

  it("are one an address, keep no password in clear, and leave a trace of what was done", async () => {
    const made = await createAccount(server, { email: "one@example.org", name: null, role: null });
    await expect(createAccount(server, { email: "ONE@example.org", name: null, role: null })).rejects.toMatchObject({
      code: "accounts.exists",
    });
    await expect(grantRole(server, "none@example.org", "annotator")).rejects.toMatchObject({
      code: "accounts.unknown",
    });
    await expect(createAccount(server, { email: "no address", name: null, role: null })).rejects.toMatchObject({
      code: "accounts.email",
    });
    const [row] = await server.database.sql<{ password: string; id: string }[]>`
      select password, person.id from person_credential join person on person.id = person_id where email = ${made.email}`;
    expect(row?.password).not.toContain(made.password);
    expect(await server.database.sql`select action from audit_event where subject = ${row?.id ?? ""}`).toEqual([
      { action: "account.create" },
    ]);
    expect((await listAccounts(server)).find(({ email }) => email === made.email)).toMatchObject({ signedInAt: null });
  });
});

describe("the secret behind the cookies", () => {
  it("is made once in the data folder, for its owner alone, also when two begin at the same time", async () => {
    const options = { dataDir: join(server.dataDir, "fresh"), authSecret: null, siteUrl: null };
    const secrets = await Promise.all([1, 2, 3].map(() => loadAuthSecret(options)));
    expect(new Set(secrets).size).toBe(1);
    expect(secrets[0]?.length).toBeGreaterThanOrEqual(43);
    expect((await stat(join(options.dataDir, "keys", "auth-secret"))).mode & 0o777).toBe(0o600);
  });

  it("must be set where the site has an https address", async () => {
    const options = { dataDir: server.dataDir, siteUrl: "https://bench.example.org" };
    await expect(loadAuthSecret({ ...options, authSecret: null })).rejects.toMatchObject({
      code: "accounts.secret-missing",
      httpStatus: 503,
    });
    expect(await loadAuthSecret({ ...options, authSecret: "x".repeat(32) })).toBe("x".repeat(32));
  });
});
