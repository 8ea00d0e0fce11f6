import type { TrajectoryPage } from "@/lib/contract/trajectory";
import { formatNumber } from "@/lib/format/numbers";
import { trajectoryHref } from "@/lib/prepare/trajectory-view";
import { StepList } from "./step-list";
import { TrajectoryFacts } from "./trajectory-facts";

/** The beginning of an attempt's trajectory on the attempt's page, and the way to the rest. */
export function AttemptTrajectory({ page }: { page: TrajectoryPage | null }) {
  if (!page) return null;
  const { attemptId, steps, trajectory } = page;
  return (
    <section aria-labelledby="trajectory">
      <h2 id="trajectory">What the agent did</h2>
      <TrajectoryFacts trajectory={trajectory} attemptId={attemptId} />
      <StepList
        steps={steps}
        attemptId={attemptId}
        open={null}
        label={`The first ${formatNumber(steps.length)} steps`}
      />
      {trajectory.steps > steps.length ? (
        <p className="steps-more">
          <a href={trajectoryHref({ attemptId })}>All {formatNumber(trajectory.steps)} steps</a>
        </p>
      ) : null}
    </section>
  );
}
