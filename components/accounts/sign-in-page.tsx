const errors: Record<string, string> = {
  refused: "No account has this address and password.",
  "too-many": "Too many attempts. Wait fifteen minutes, then try again.",
};

/** A form of two fields; works without JavaScript. */
export function SignInPage({ next, error, done }: { next: string; error: string; done: string }) {
  const message = errors[error];
  return (
    <>
      <div className="page-head">
        <h1>Sign in</h1>
        <p className="lead">For those who label failures. Everything else on this site is read without an account.</p>
      </div>
      {done === "signed-out" ? (
        <p className="notice" role="status">
          You are signed out.
        </p>
      ) : null}
      <form action="/account/session" method="post" className="account-form">
        {message ? (
          <p className="account-error" role="alert" id="sign-in-error">
            {message}
          </p>
        ) : null}
        <input type="hidden" name="next" value={next} />
        <label>
          Email
          <input
            name="email"
            type="email"
            autoComplete="username"
            required
            maxLength={254}
            aria-describedby={message ? "sign-in-error" : undefined}
          />
        </label>
        <label>
          Password
          <input
            name="password"
            type="password"
            autoComplete="current-password"
            required
            maxLength={128}
            aria-describedby={message ? "sign-in-error" : undefined}
          />
        </label>
        <button type="submit" className="action">
          Sign in
        </button>
      </form>
      <p className="account-note">
        Accounts are made by the maintainers, who also give a new password where one is lost.
      </p>
    </>
  );
}
