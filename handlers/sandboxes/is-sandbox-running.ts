import { z } from 'zod';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxPath } from './sandbox-path.ts';

export const isSandboxRunningRoute = defineRoute({
  id: 'isSandboxRunning',
  method: 'GET',
  path: '/v1/sandbox/{id}/running',
  tag: 'Sandboxes',
  summary: 'Whether commands can run in the sandbox',
  access: 'caller',
  agents: true,
  // It says nothing of files.
  delegates: { scope: 'fs:read', enforces: 'paths' },
  bridge: true,
  params: SandboxPath,
  responses: {
    200: {
      description: 'Whether it runs',
      schema: z.object({ running: z.boolean() }).meta({ id: 'RunningResponse' }),
    },
  },
  errors: ['sandbox_not_found', 'exec_transport_error'],
  async handle({ params, caller, signal }, services) {
    const sandbox = await useSandbox(services, caller, params.id, { agents: true, asItIs: true });
    return json(200, { running: (await services.provider.inspect(sandbox.id, signal)).state === 'running' });
  },
});
