import { z } from 'zod';
import { createSession } from '#core/use-cases/sessions/create-session.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxPath } from './sandbox-path.ts';

const Body = z
  .object({
    id: z.string().nullish().describe('`[a-zA-Z0-9._-]{1,128}` without `..`; without it one is made up'),
    cwd: z.string().nullish().describe('Within /workspace, the default'),
    env: z.record(z.string(), z.string('must be a string')).nullish(),
  })
  .meta({ id: 'CreateSessionRequest' });

export const createSessionRoute = defineRoute({
  id: 'createSession',
  method: 'POST',
  path: '/v1/sandbox/{id}/session',
  tag: 'Sandboxes',
  summary: 'Begin a session',
  description:
    'A session keeps working directory and environment from command to command, apart from other sessions. A `Session-Id` that is not known begins one as well.',
  access: 'caller',
  agents: true,
  delegates: { scope: 'exec' },
  bridge: true,
  params: SandboxPath,
  body: Body,
  malformedBody: 'ignored',
  responses: {
    200: { description: 'Its id', schema: z.object({ id: z.string() }).meta({ id: 'SessionId' }) },
  },
  errors: [
    'path_outside_workspace',
    'exec_error',
    'sandbox_not_found',
    'sandbox_not_running',
    'session_error',
    'exec_transport_error',
  ],
  async handle({ params, body, caller, signal }, services) {
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const id = body.id ?? services.ids.session(services.clock.now());
    const { cwd, env } = body;
    await createSession(
      services,
      sandbox.id,
      { id, cwd: cwd ?? undefined, env: env ?? undefined, sandboxEnv: sandbox.env },
      signal,
    );
    return json(200, { id });
  },
});
