import { PortholeError } from '../errors.ts';
import type { RunRecord } from '../ports/run-records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { checkTargetPort } from '../rules/target-port.ts';

export interface CheckStartDeps {
  readonly provider: Pick<SandboxProvider, 'inspect'>;
  readonly preview: PreviewOptions;
}

/**
 * The pod that a preview of the run's port would show, once nothing about port, run and sandbox speaks against it.
 * @throws PortholeError `invalid_port`, `port_out_of_range`, `run_ended`, `no_bound_sandbox`
 */
export async function checkStart(
  { provider, preview }: CheckStartDeps,
  { run, targetPort }: { readonly run: RunRecord; readonly targetPort: number },
  signal?: AbortSignal,
): Promise<string> {
  checkTargetPort(targetPort, preview);
  if (run.status === 'completed' && !preview.keepAfterRun) {
    throw new PortholeError(
      'run_ended',
      `Run ${run.id} has completed and previews do not outlive runs here: make a new run.`,
    );
  }
  const { state, podName, reason } = await provider.inspect(run.sandboxId, signal);
  if (state === 'running') return podName;
  throw new PortholeError(
    'no_bound_sandbox',
    `No bound sandbox for run ${run.id}: sandbox ${run.sandboxId} is ${state}${reason ? ` (${reason})` : ''}. ` +
      (state === 'absent' ? 'Make a new run.' : 'Try again once it runs.'),
  );
}
