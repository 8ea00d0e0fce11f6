import { Crumbs } from "@/components/ui/crumbs";
import { RangeLinks } from "@/components/ui/step-links";
import type { TrajectoryPage as TrajectoryPageModel } from "@/lib/contract/trajectory";
import { formatNumber, plural } from "@/lib/format/numbers";
import { type TrajectoryView, trajectoryHref, trajectorySteps } from "@/lib/prepare/trajectory-view";
import { StepList } from "./step-list";
import { TrajectoryFacts } from "./trajectory-facts";

function Pages({ page, label }: { page: TrajectoryPageModel; label: string }) {
  const { attemptId, trajectory } = page;
  const ranges = trajectorySteps({ from: page.steps[0]?.number ?? 1, steps: trajectory.steps });
  return <RangeLinks label={label} ranges={ranges} hrefOf={(from) => trajectoryHref({ attemptId, from })} />;
}

function rangeText({ steps, trajectory }: TrajectoryPageModel): string {
  const [first, last] = [steps[0]?.number ?? 0, steps.at(-1)?.number ?? 0];
  return steps.length === trajectory.steps
    ? `All ${formatNumber(trajectory.steps)} ${plural(trajectory.steps, "step")}`
    : `Steps ${formatNumber(first)} to ${formatNumber(last)} of ${formatNumber(trajectory.steps)}`;
}

/** What an agent did in an attempt, step by step, page by page. */
export function TrajectoryPage({ page, view }: { page: TrajectoryPageModel; view: TrajectoryView }) {
  const { attemptId, submissionId, task, trajectory } = page;
  return (
    <>
      <div className="page-head">
        <Crumbs
          trail={[
            { href: `/submissions/${submissionId}`, label: <bdi>{page.model}</bdi> },
            { href: `/submissions/${submissionId}/${task.slug}`, label: task.title },
          ]}
          here="Trajectory"
        />
        <h1>What the agent did</h1>
        <TrajectoryFacts trajectory={trajectory} attemptId={attemptId} />
        {view.step !== null && view.step > trajectory.steps ? (
          <p className="notice">There is no step {formatNumber(view.step)}: the trajectory ends before it.</p>
        ) : null}
      </div>
      <div className="log-bar">
        <form action={`/trajectories/${attemptId}`} method="get" className="log-jump">
          <label>
            Go to step <input name="step" type="text" inputMode="numeric" pattern="[0-9]*" maxLength={7} required />
          </label>
          <button type="submit" className="action">
            Go
          </button>
        </form>
        <Pages page={page} label="Pages of the trajectory, above" />
      </div>
      <h2 className="step-range">{rangeText(page)}</h2>
      <StepList steps={page.steps} attemptId={attemptId} open={view.step} label={rangeText(page)} />
      <Pages page={page} label="Pages of the trajectory, below" />
    </>
  );
}
