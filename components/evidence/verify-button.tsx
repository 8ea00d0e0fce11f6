"use client";

import { useId, useState } from "react";
import { useReady } from "@/components/ui/use-ready";
import type { Problem } from "@/lib/contract/errors";
import type { ShownFigures } from "@/lib/contract/evidence-api";
import type { PageVerification } from "@/lib/evidence/browser-verify";

type State =
  | { step: "idle" }
  | { step: "checking" }
  | { step: "done"; verification: PageVerification }
  | { step: "failed"; problem: Problem };

type Check = PageVerification["checks"][number];

interface Props {
  gradingId: string;
  /** The figures that this page displays; they are compared with the signed ones. */
  shown: ShownFigures;
}

function problemOf(error: unknown): Problem {
  if (typeof error === "object" && error !== null && "problem" in error) return error.problem as Problem;
  return {
    code: "browser.check-failed",
    message: "the check could not run in this browser",
    rule: String(error),
    remedy: "reload the page, or verify with `runner verify`",
  };
}

function headlineOf(state: State): string {
  switch (state.step) {
    case "idle":
      return "";
    case "checking":
      return "Checking the evidence…";
    case "done": {
      const { checks, ok } = state.verification;
      const failed = checks.filter((check) => !check.ok).length;
      return ok
        ? `All ${checks.length} checks hold: the stored evidence is signed and matches the figures on this page.`
        : `${failed} of ${checks.length} checks do not hold.`;
    }
    case "failed":
      return `Not checked: ${state.problem.message}.`;
  }
}

function ProblemText({ problem }: { problem: Problem }) {
  return (
    <span className="verify-problem">
      {problem.where ? <code>{problem.where}</code> : null} {problem.message} <code>{problem.code}</code>
      {problem.remedy ? <> — {problem.remedy}</> : null}
    </span>
  );
}

function CheckItem({ check }: { check: Check }) {
  const shownProblems = check.problems.slice(0, 5);
  return (
    <li className="verify-check" data-ok={check.ok}>
      <span className="verify-mark">{check.ok ? "holds" : "fails"}</span>
      <span className="verify-label">{check.label}</span>
      {check.ok ? <span className="verify-detail">{check.detail}</span> : null}
      {shownProblems.map((problem) => (
        <ProblemText key={`${problem.code} ${problem.where}`} problem={problem} />
      ))}
      {check.problems.length > shownProblems.length ? (
        <span className="verify-detail">and {check.problems.length - shownProblems.length} more</span>
      ) : null}
    </li>
  );
}

/** Checks a grading's evidence in the page, and says what that proves and what it does not. */
export function VerifyButton({ gradingId, shown }: Props) {
  const [state, setState] = useState<State>({ step: "idle" });
  const statusId = useId();
  const ready = useReady();

  async function verify() {
    if (state.step === "checking") return;
    setState({ step: "checking" });
    try {
      const { verifyInPage } = await import("@/lib/evidence/browser-verify");
      setState({ step: "done", verification: await verifyInPage(gradingId, shown) });
    } catch (error) {
      setState({ step: "failed", problem: problemOf(error) });
    }
  }

  const outcome = state.step === "done" ? (state.verification.ok ? "holds" : "fails") : state.step;
  return (
    <div className="verify">
      <button
        type="button"
        className="verify-button"
        data-later={ready ? undefined : "on"}
        onClick={() => void verify()}
        aria-disabled={state.step === "checking"}
        aria-describedby={statusId}
      >
        Verify
      </button>
      <p id={statusId} role="status" className="verify-status" data-outcome={outcome}>
        {headlineOf(state)}
      </p>
      {state.step === "failed" ? <ProblemText problem={state.problem} /> : null}
      {state.step === "done" ? (
        <>
          <ul className="verify-checks" aria-label="Checks">
            {state.verification.checks.map((check) => (
              <CheckItem key={check.id} check={check} />
            ))}
          </ul>
          <p className="verify-limits-title">What this does not prove</p>
          <ul className="verify-limits" aria-label="What this does not prove">
            {state.verification.notProven.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </>
      ) : null}
    </div>
  );
}
