import type { AttemptDetail } from "@/lib/contract/api";
import { formatBytes } from "@/lib/format/numbers";

/** The machine that graded, and what watched over the grading. */
export function HostFacts({ detail }: { detail: AttemptDetail }) {
  const { host, guard, grading } = detail;
  if (!host || !grading) return null;
  const gpus = host.gpus.length === 0 ? "none" : `${host.gpus.length} × ${host.gpus[0]?.model}`;
  const canariesRight = guard?.canaries.filter((canary) => canary.expected === canary.observed).length ?? 0;
  const canaries = guard?.canaries.length ?? 0;
  const controls = guard?.controls?.length ?? 0;
  const controlsRight = guard?.controls?.filter((control) => control.observed !== "passed").length ?? 0;
  return (
    <section className="two" aria-label="Host and guard">
      <div>
        <h2>Host</h2>
        <dl className="facts">
          <dt>Executor</dt>
          <dd>
            {grading.executor}
            {grading.sandboxed ? ", sandboxed" : ", not sandboxed"}
          </dd>
          <dt>Processor</dt>
          <dd>
            {host.cpuModel}, {host.cpuCount} cores, {formatBytes(host.memoryMb * 1024 * 1024)}
          </dd>
          <dt>GPUs</dt>
          <dd>{gpus}</dd>
          <dt>System</dt>
          <dd>
            {host.os}, kernel {host.kernel}, {host.arch}
          </dd>
          <dt>Software</dt>
          <dd>
            Python {host.python}, pytest {host.pytest}
            {host.torch ? `, torch ${host.torch}` : ""}
            {host.cuda ? `, CUDA ${host.cuda}` : ""}
            {host.nccl ? `, NCCL ${host.nccl}` : ""}
          </dd>
        </dl>
      </div>
      {guard ? (
        <div>
          <h2>Guard</h2>
          <dl className="facts">
            <dt>Canaries</dt>
            <dd>{canaries === 0 ? "none placed" : `${canariesRight} of ${canaries} reported as they must`}</dd>
            <dt title="Tests that passed, launched again so that no honest run passes them">Negative controls</dt>
            <dd>
              {controls === 0 ? "none launched" : `${controlsRight} of ${controls} did not pass, as they must not`}
            </dd>
            <dt>Restored paths</dt>
            <dd>
              {guard.restoredPaths.length === 0
                ? "none: the patch touched no protected path"
                : guard.restoredPaths.map((path) => (
                    <code key={path} className="path">
                      {path}
                    </code>
                  ))}
            </dd>
            <dt>Findings</dt>
            <dd>
              {guard.findings.length === 0
                ? "none"
                : guard.findings.map((finding) => (
                    <span key={`${finding.code} ${finding.message}`} className="finding-line">
                      <code>{finding.code}</code> {finding.message}
                    </span>
                  ))}
            </dd>
          </dl>
        </div>
      ) : null}
    </section>
  );
}
