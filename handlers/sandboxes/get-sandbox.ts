import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxDetailDto, toSandboxDetailDto } from './sandbox-limits-dto.ts';
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
  responses: { 200: { description: 'The sandbox', schema: SandboxDetailDto } },
  errors: ['sandbox_not_found'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id, { agents: true });
    return json(200, await toSandboxDetailDto(sandbox, services.provider));
  },
});
