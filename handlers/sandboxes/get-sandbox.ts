import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxDto, toSandboxDto } from './sandbox-dto.ts';
import { SandboxPath } from './sandbox-path.ts';

export const getSandboxRoute = defineRoute({
  id: 'getSandbox',
  method: 'GET',
  path: '/v1/sandbox/{id}',
  tag: 'Sandboxes',
  summary: 'Read a sandbox',
  description: 'Makes none: an unknown id is 404.',
  access: 'caller',
  agents: true,
  params: SandboxPath,
  responses: { 200: { description: 'The sandbox', schema: SandboxDto } },
  errors: ['sandbox_not_found'],
  async handle({ params, caller }, services) {
    return json(200, toSandboxDto(await findSandbox(services, caller, params.id, { agents: true })));
  },
});
