import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { readySandbox } from '#core/use-cases/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxDto, toSandboxDto } from './sandbox-dto.ts';
import { SandboxPath } from './sandbox-path.ts';

export const resumeSandboxRoute = defineRoute({
  id: 'resumeSandbox',
  method: 'POST',
  path: '/v1/sandbox/{id}/resume',
  tag: 'Sandboxes',
  summary: 'Resume a sandbox',
  description: 'Starts it on its files, and answers once it runs. Does nothing to one that runs.',
  access: 'caller',
  params: SandboxPath,
  responses: { 200: { description: 'The sandbox', schema: SandboxDto } },
  errors: ['sandbox_not_found', 'sandbox_not_running', 'quota_exceeded', 'exec_transport_error'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    const ready = await readySandbox(services, sandbox, { inspects: true });
    return json(200, toSandboxDto(ready, services.provider.defaultSize));
  },
});
