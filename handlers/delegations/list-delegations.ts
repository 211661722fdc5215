import { z } from 'zod';
import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';
import { DelegationDto, toDelegationDto } from './delegation-dto.ts';

export const listDelegationsRoute = defineRoute({
  id: 'listDelegations',
  method: 'GET',
  path: '/v1/sandbox/{id}/delegations',
  tag: 'Delegations',
  summary: 'List what is lent of a sandbox, oldest first',
  access: 'caller',
  params: SandboxPath,
  responses: {
    200: {
      description: 'The delegations that last',
      schema: z.object({ delegations: z.array(DelegationDto) }).meta({ id: 'DelegationList' }),
    },
  },
  errors: ['sandbox_not_found'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    const delegations = await services.records.delegations.list(sandbox, services.clock.now());
    return json(200, { delegations: delegations.map(toDelegationDto) });
  },
});
