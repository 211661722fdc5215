import { destroySandbox } from '#core/use-cases/destroy-sandbox.ts';
import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { defineRoute } from '../route.ts';
import { SandboxPath } from './sandbox-path.ts';

export const deleteSandboxRoute = defineRoute({
  id: 'deleteSandbox',
  method: 'DELETE',
  path: '/v1/sandbox/{id}',
  tag: 'Sandboxes',
  summary: 'Destroy a sandbox and its files',
  access: 'caller',
  params: SandboxPath,
  responses: { 204: { description: 'Destroyed' } },
  errors: ['sandbox_not_found'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    await destroySandbox(services, sandbox);
    return { statusCode: 204, headers: {} };
  },
});
