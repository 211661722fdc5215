import { PortholeError } from '../errors.ts';
import type { RunRecord } from '../ports/records.ts';
import type { PreviewOptions } from '../preview-options.ts';
import { checkTargetPort } from '../rules/target-port.ts';

/**
 * Lets an agent's preview through where an auto-approve source is on: the installation's, or the run's own option. What would be refused
 * anyway is refused first, so that approval is only ever a question about calls that could succeed.
 * @throws PortholeError `port_out_of_range`, `approval_required`
 */
export function approveAgentPreview(
  { preview }: { readonly preview: PreviewOptions },
  run: RunRecord,
  targetPort: number,
): void {
  checkTargetPort(targetPort, preview);
  if (preview.autoApprove || run.autoApproveTools) return;
  throw new PortholeError(
    'approval_required',
    `A preview of port ${targetPort} that the agent opens needs approval: make the run with auto_approve_tools, ` +
      'set SANDBOX_PREVIEW_AUTO_APPROVE=true, or start it as the owner (POST …/sandbox/port-forward).',
  );
}
