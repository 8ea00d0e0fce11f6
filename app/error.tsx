"use client";

/** Shown where a page could not be made; what failed stands in the server's log under the digest. */
export default function ErrorPage({ error, reset }: { error: Error & { digest?: string }; reset: () => void }) {
  return (
    <div className="page-head prose" role="alert">
      <h1>This page could not be made.</h1>
      <p className="lead">
        The fault is the server’s, not yours. Nothing was changed{error.digest ? ` (reference ${error.digest})` : ""}.
      </p>
      <p>
        <button type="button" className="action" onClick={reset}>
          Try again
        </button>
      </p>
    </div>
  );
}
