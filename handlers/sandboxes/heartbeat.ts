import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { expiryOf } from '#core/rules/lifecycle.ts';
import { findSandbox, sandboxNotFound } from '#core/use-cases/find-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxPath } from './sandbox-path.ts';

const Heartbeat = z
  .object({
    expires_at: z.iso
      .datetime()
      .nullable()
      .describe('When it is stopped without another one; null: it has no ttl'),
  })
  .meta({ id: 'Heartbeat', example: { expires_at: '2026-03-01T12:10:00.000Z' } });

export const heartbeatRoute = defineRoute({
  id: 'heartbeat',
  method: 'POST',
  path: '/v1/sandbox/{id}/heartbeat',
  tag: 'Sandboxes',
  summary: 'Say that a sandbox is still wanted',
  description:
    'Starts its `ttl_seconds` anew, and counts as use. An open terminal, and a timeline that is followed, do the same. Without any within the ttl it is stopped, with its files kept. It wakes none that is stopped.',
  access: 'caller',
  params: SandboxPath,
  responses: { 200: { description: 'How long that lasts', schema: Heartbeat } },
  errors: ['sandbox_not_found', 'sandbox_not_running'],
  async handle({ params, caller }, { records, clock }) {
    const sandbox = await findSandbox({ records }, caller, params.id);
    const beaten = await records.sandboxes.heartbeat(sandbox, clock.now());
    if (beaten !== undefined) return json(200, { expires_at: expiryOf(beaten)?.toISOString() ?? null });
    const now = await records.sandboxes.get(sandbox.id);
    if (now === undefined || now.desired === 'destroyed') throw sandboxNotFound(sandbox.id);
    throw new PortholeError(
      'sandbox_not_running',
      `Sandbox ${sandbox.id} is stopped: POST /v1/sandbox/${sandbox.id}/resume starts it on its files.`,
    );
  },
});
