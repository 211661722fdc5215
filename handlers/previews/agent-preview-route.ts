import { actorOn } from '#core/callers.ts';
import { startAgentPreview } from '#core/previews/start-agent-preview.ts';
import { json } from '../route.ts';
import { defineRunRoute } from '../runs/run-routes.ts';
import {
  awaitStarted,
  PREVIEW,
  StartedPreviewDto,
  toStartedPreviewDto,
  StartPreviewBody,
} from './port-forward-routes.ts';

export const startAgentPreviewRoute = defineRunRoute('startAgentPreview', 'POST', PREVIEW, {
  tag: 'Previews',
  summary: 'Start a preview on behalf of the agent',
  description:
    "For the run's owner or its own agent. Unless something has approved it beforehand, a person is asked (`tool.approval_required` on the run's timeline), and the answer waits for " +
    'the decision, five minutes at most. Send the same request again where the connection was lost: it is still waited for. A caller that goes away withdraws it.',
  class: 'stream',
  agents: true,
  channel: true,
  body: StartPreviewBody,
  responses: { 200: { description: 'The live preview', schema: StartedPreviewDto } },
  errors: [
    'port_out_of_range',
    'approval_denied',
    'approval_timed_out',
    'run_ended',
    'no_bound_sandbox',
    'preview_conflict',
    'too_many_previews',
    'quota_exceeded',
    'too_many_approvals',
  ],
  async handle({ body, caller, signal }, run, services) {
    const { check, ...start } = body;
    const asked = { run, by: actorOn(run, caller) };
    const started = await startAgentPreview(services, { ...asked, ...start }, { signal });
    const { readiness, page } = await awaitStarted(services, started, { ...asked, check }, signal);
    return json(200, toStartedPreviewDto(started.preview, readiness, page));
  },
});
