import { passwordLength } from "@/lib/contract/accounts";

interface Person {
  email: string;
  name: string;
  pseudonym: string;
  role: "annotator" | "maintainer" | null;
}

const rights = {
  annotator: "annotator: labels failures",
  maintainer: "maintainer: labels failures, and decides where labels disagree",
};
const errors: Record<string, string> = {
  password: "The present password is not right, or there were too many attempts. Nothing has changed.",
  length: `A password has ${passwordLength.min} to ${passwordLength.max} characters. Nothing has changed.`,
};

/** What the site holds of a person, with the ways to change it. */
export function AccountPage({ person, error, done }: { person: Person; error: string; done: string }) {
  const message = errors[error];
  return (
    <>
      <div className="page-head">
        <h1>Account</h1>
      </div>
      <dl className="account-facts">
        <dt>Email</dt>
        <dd>
          <bdi>{person.email}</bdi> <span className="muted">seen by you and the maintainers</span>
        </dd>
        <dt>Public name</dt>
        <dd>
          <code>{person.pseudonym}</code> <span className="muted">stands beside every label that you give</span>
        </dd>
        <dt>Role</dt>
        <dd>{person.role ? rights[person.role] : "none: reads what everybody reads"}</dd>
      </dl>
      {person.role ? (
        <p>
          <a href="/label">Label failures</a>
        </p>
      ) : null}
      <h2>Password</h2>
      {done === "password" ? (
        <p className="notice" role="status">
          The password is changed. Other sessions have ended.
        </p>
      ) : null}
      <form action="/account/password" method="post" className="account-form">
        {message ? (
          <p className="account-error" role="alert" id="password-error">
            {message}
          </p>
        ) : null}
        <label>
          Present password
          <input name="current" type="password" autoComplete="current-password" required maxLength={128} />
        </label>
        <label>
          New password, {passwordLength.min} characters or more
          <input
            name="next"
            type="password"
            autoComplete="new-password"
            required
            minLength={passwordLength.min}
            maxLength={passwordLength.max}
          />
        </label>
        <button type="submit" className="action">
          Change password
        </button>
      </form>
      <h2>Session</h2>
      <form action="/account/session/end" method="post" className="account-form">
        <button type="submit" className="action">
          Sign out
        </button>
      </form>
    </>
  );
}
