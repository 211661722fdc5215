import { stopSandbox } from '#core/use-cases/resume-sandbox.ts';
import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxDto, toSandboxDto } from './sandbox-dto.ts';
import { SandboxPath } from './sandbox-path.ts';

export const stopSandboxRoute = defineRoute({
  id: 'stopSandbox',
  method: 'POST',
  path: '/v1/sandbox/{id}/stop',
  tag: 'Sandboxes',
  summary: 'Stop a sandbox',
  description: 'Ends every process in it and keeps its files. Does nothing to one that is stopped.',
  access: 'caller',
  params: SandboxPath,
  responses: { 200: { description: 'The sandbox', schema: SandboxDto } },
  errors: ['sandbox_not_found', 'exec_transport_error'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    return json(200, toSandboxDto(await stopSandbox(services, sandbox), services.provider.defaultSize));
  },
});
