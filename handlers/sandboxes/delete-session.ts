import { z } from 'zod';
import { deleteSession } from '#core/use-cases/sessions/delete-session.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { defineRoute } from '../route.ts';
import { SandboxPath } from './sandbox-path.ts';

export const deleteSessionRoute = defineRoute({
  id: 'deleteSession',
  method: 'DELETE',
  path: '/v1/sandbox/{id}/session/{sid}',
  tag: 'Sandboxes',
  summary: 'End a session',
  description:
    'Its working directory and environment are forgotten; what its commands left running runs on. Its terminal ends.',
  access: 'caller',
  agents: true,
  delegates: { scope: 'exec' },
  bridge: true,
  params: SandboxPath.extend({ sid: z.string().max(400).describe('Session id') }),
  responses: { 204: { description: 'Ended' } },
  errors: ['sandbox_not_found', 'sandbox_not_running', 'session_error', 'exec_transport_error'],
  async handle({ params, caller, signal }, services) {
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    await deleteSession(services, sandbox.id, params.sid, signal);
    services.terminals.endSession(sandbox, params.sid);
    return { statusCode: 204, headers: {} };
  },
});
