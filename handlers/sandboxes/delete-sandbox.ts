import { mayUseSandbox, ownsSandbox } from '#core/callers.ts';
import { endSandbox } from '#core/use-cases/end-sandbox.ts';
import { sandboxNotFound } from '#core/use-cases/find-sandbox.ts';
import { defineRoute } from '../route.ts';
import { SandboxPath } from './sandbox-path.ts';

export const deleteSandboxRoute = defineRoute({
  id: 'deleteSandbox',
  method: 'DELETE',
  path: '/v1/sandbox/{id}',
  tag: 'Sandboxes',
  summary: 'Destroy a sandbox and its files',
  description: 'Also where there is none. Used again, the id names a fresh one.',
  access: 'caller',
  bridge: true,
  params: SandboxPath,
  responses: { 204: { description: 'Destroyed' } },
  errors: ['sandbox_not_found', 'exec_transport_error'],
  async handle({ params, caller }, services) {
    const sandbox = await services.records.sandboxes.get(params.id);
    if (sandbox !== undefined) {
      if (!mayUseSandbox(caller, sandbox, false)) throw sandboxNotFound(params.id);
      await endSandbox(services, sandbox, ownsSandbox(caller, sandbox) ? 'owner' : 'admin');
    }
    return { statusCode: 204, headers: {} };
  },
});
