import { commandEnvironment } from '#core/network/network-secrets.ts';
import { z } from 'zod';
import { checkSessionId, createSession, deleteSession } from '#core/processes/exec-sessions.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import type { HttpEvent } from '../http/http-event.ts';
import { defineRoute, json } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';

const Body = z
  .object({
    id: z.string().nullish().describe('`[a-zA-Z0-9._-]{1,128}` without `..`; default: a new id'),
    cwd: z.string().nullish().describe('Within /workspace, the default'),
    env: z.record(z.string(), z.string('must be a string')).nullish(),
  })
  .meta({ id: 'CreateSessionRequest' });

const createSessionRoute = defineRoute('createSession', 'POST', '/v1/sandbox/{id}/session', {
  shared: { sandbox: 'work' },
  tag: 'Sandboxes',
  summary: 'Begin a session',
  description:
    'A session keeps its working directory and environment between commands. An unknown `Session-Id` also creates one.',
  agents: true,
  delegates: { scope: 'exec' },
  bridge: true,
  params: SandboxPath,
  body: Body,
  malformedBody: 'ignored',
  responses: {
    200: { description: 'Its id', schema: z.object({ id: z.string() }).meta({ id: 'SessionId' }) },
  },
  errors: ['path_outside_workspace', 'exec_error', 'session_error', ...GUEST_ERRORS],
  async handle({ params, body, caller, signal }, services) {
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const id = body.id ?? services.ids.session(services.clock.now());
    const { cwd, env } = body;
    await createSession(
      services,
      sandbox.id,
      { id, cwd: cwd ?? undefined, env: env ?? undefined, sandboxEnv: commandEnvironment(sandbox) },
      signal,
    );
    return json(200, { id });
  },
});

const deleteSessionRoute = defineRoute('deleteSession', 'DELETE', '/v1/sandbox/{id}/session/{sid}', {
  shared: { sandbox: 'work' },
  tag: 'Sandboxes',
  summary: 'End a session',
  description:
    'Deletes its working directory and environment, and ends its terminal. Background processes continue.',
  agents: true,
  delegates: { scope: 'exec' },
  bridge: true,
  params: SandboxPath.extend({
    sid: z.string().max(400).describe('Session id').meta({ pattern: '^[a-zA-Z0-9._-]{1,128}$' }),
  }),
  responses: { 204: { description: 'Ended' } },
  errors: ['session_error', ...GUEST_ERRORS],
  async handle({ params, caller, signal }, services) {
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    await deleteSession(services, sandbox.id, params.sid, signal);
    services.terminals.endSession(sandbox, params.sid);
    return { statusCode: 204, headers: {} };
  },
});

/**
 * The session of the `Session-Id` header; undefined without one.
 * @throws PortholeError `invalid_request`
 */
export function checkSessionHeader(headers: HttpEvent['headers']): string | undefined {
  const id = headers['session-id'];
  return id === undefined ? undefined : checkSessionId(id);
}

export const execSessionRoutes = [createSessionRoute, deleteSessionRoute];
