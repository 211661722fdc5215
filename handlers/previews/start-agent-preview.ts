import { actorOn } from '#core/callers.ts';
import { approveAgentPreview } from '#core/use-cases/approve-agent-preview.ts';
import { findRun } from '#core/use-cases/find-run.ts';
import { startPreview } from '#core/use-cases/start-preview.ts';
import { defineRoute, json } from '../route.ts';
import { RunPath } from '../runs/run-dto.ts';
import { StartedPreviewDto, toStartedPreviewDto } from './preview-dto.ts';
import { StartPreviewBody } from './start-request.ts';

export const startAgentPreviewRoute = defineRoute({
  id: 'startAgentPreview',
  method: 'POST',
  path: '/api/runs/{id}/sandbox/preview',
  tag: 'Previews',
  summary: 'Start a preview on behalf of the agent',
  description: "For the run's owner or its own agent. Opens only where an auto-approve source is on.",
  access: 'caller',
  agents: true,
  params: RunPath,
  body: StartPreviewBody,
  responses: { 200: { description: 'The live preview', schema: StartedPreviewDto } },
  errors: [
    'invalid_run_id',
    'port_out_of_range',
    'foreign_run',
    'approval_required',
    'run_not_found',
    'run_ended',
    'no_bound_sandbox',
    'preview_conflict',
    'too_many_previews',
  ],
  async handle({ params, body, caller, signal }, services) {
    const run = await findRun(services, caller, params.id, { agents: true });
    approveAgentPreview(services, run, body.targetPort);
    const { preview, readiness } = await startPreview(
      services,
      { run, ...body, by: actorOn(run, caller) },
      signal,
    );
    return json(200, toStartedPreviewDto(preview, readiness));
  },
});
