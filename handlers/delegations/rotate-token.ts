import { z } from 'zod';
import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';

export const rotateTokenRoute = defineRoute({
  id: 'rotateSandboxToken',
  method: 'POST',
  path: '/v1/sandbox/{id}/token',
  tag: 'Delegations',
  summary: "Replace the sandbox's own token",
  description:
    'The token is good for everything that can be lent, and for as long as the sandbox is there. The one before is good no longer; what has been begun with it ends.',
  access: 'caller',
  params: SandboxPath,
  responses: {
    200: {
      description: 'The only good one from now on',
      schema: z
        .object({ sandbox_token: z.string().describe('It is told here alone: keep it safe') })
        .meta({ id: 'SandboxToken' }),
    },
  },
  errors: ['sandbox_not_found'],
  async handle({ params, caller }, { records, tokens }) {
    const { id, generation } = await findSandbox({ records }, caller, params.id);
    const version = await records.delegations.rotateToken({ id, generation });
    const sandbox_token = await tokens.signSandbox({ sandboxId: id, generation, by: { version } });
    return json(200, { sandbox_token }, { 'cache-control': 'no-store' });
  },
});
