import type { Metadata } from "next";

export const metadata: Metadata = { title: "Not found" };

export default function NotFound() {
  return (
    <div className="page-head prose">
      <h1>There is nothing at this address.</h1>
      <p className="lead">
        A submission or task that existed keeps its address, even when it was withdrawn; so the address is likely
        mistyped, or what it names has not arrived yet.
      </p>
      <p>
        <a href="/">Go to the leaderboard</a>
      </p>
    </div>
  );
}
