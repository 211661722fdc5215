import { z } from 'zod';
import { actorOn } from '#core/callers.ts';
import { findRun } from '#core/use-cases/find-run.ts';
import { stopPreview } from '#core/use-cases/stop-preview.ts';
import { defineRoute, json } from '../route.ts';
import { RunPath } from '../runs/run-dto.ts';

export const stopPortForwardRoute = defineRoute({
  id: 'stopPortForward',
  method: 'DELETE',
  path: '/api/runs/{id}/sandbox/port-forward/{sessionId}',
  tag: 'Previews',
  summary: 'Stop a preview',
  description: 'Its URL is revoked for good: the next start of the port gets a new one.',
  access: 'caller',
  agents: true,
  channel: true,
  params: RunPath.extend({ sessionId: z.string().max(200).describe('`session_id` of the preview') }),
  responses: {
    200: {
      description: 'Stopped',
      schema: z.object({ session_id: z.string(), stopped: z.literal(true) }).meta({ id: 'StoppedSession' }),
    },
  },
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found', 'preview_not_found'],
  async handle({ params, caller, signal }, services) {
    const run = await findRun(services, caller, params.id, { agents: true });
    await stopPreview(services, { run, token: params.sessionId, by: actorOn(run, caller) }, signal);
    return json(200, { session_id: params.sessionId, stopped: true });
  },
});
