import type { KeptTrajectory } from "@/lib/contract/trajectory";
import { formatBytes } from "@/lib/format/numbers";
import { firstLine, trajectoryFactWords, trajectoryNotes } from "@/lib/prepare/trajectory-view";

/** Agent, model and figures of a run, as its trajectory states them, and where the whole of it is. */
export function TrajectoryFacts({ trajectory, attemptId }: { trajectory: KeptTrajectory; attemptId: string }) {
  const { agent, agentVersion, model } = trajectory;
  const api = `/api/v1/attempts/${attemptId}/trajectory`;
  return (
    <>
      <p className="task-facts">
        <bdi>{firstLine(agent)}</bdi> {firstLine(agentVersion)}
        {model === null ? null : (
          <>
            , <bdi>{firstLine(model)}</bdi>
          </>
        )}
        : {trajectoryFactWords(trajectory).join(", ")}.{" "}
        <a href={`${api}/file`} download>
          Whole file
        </a>{" "}
        ({trajectory.version}, {formatBytes(trajectory.bytes)}) · <a href={api}>JSON</a>
      </p>
      {trajectoryNotes(trajectory).map((note) => (
        <p key={note} className="aside">
          {note}
        </p>
      ))}
    </>
  );
}
