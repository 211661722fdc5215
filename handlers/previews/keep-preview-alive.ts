import { z } from 'zod';
import { actorOn } from '#core/callers.ts';
import { findRun } from '#core/use-cases/find-run.ts';
import { keepPreviewAlive } from '#core/use-cases/keep-preview-alive.ts';
import { defineRoute, json } from '../route.ts';
import { RunPath } from '../runs/run-dto.ts';

export const keepPreviewAliveRoute = defineRoute({
  id: 'keepPreviewAlive',
  method: 'POST',
  path: '/api/runs/{id}/sandbox/preview/{token}/keepalive',
  tag: 'Previews',
  summary: 'Keep a preview alive',
  description:
    'Moves its expiry one idle window on, never past its maximum lifetime, and counts as use of the sandbox.',
  access: 'caller',
  agents: true,
  channel: true,
  params: RunPath.extend({ token: z.string().max(200).describe('`session_id` of the preview') }),
  responses: {
    200: {
      description: 'Kept alive',
      schema: z
        .object({ token: z.string(), kept_alive: z.literal(true), expires_at: z.iso.datetime().nullable() })
        .meta({ id: 'KeptAlive' }),
    },
  },
  errors: [
    'invalid_run_id',
    'foreign_run',
    'run_not_found',
    'preview_not_found',
    'preview_not_enabled',
    'preview_expired',
  ],
  async handle({ params, caller, signal }, services) {
    const run = await findRun(services, caller, params.id, { agents: true });
    const kept = await keepPreviewAlive(
      services,
      { run, token: params.token, by: actorOn(run, caller) },
      signal,
    );
    return json(200, {
      token: kept.token,
      kept_alive: true,
      expires_at: kept.expiresAt?.toISOString() ?? null,
    });
  },
});
