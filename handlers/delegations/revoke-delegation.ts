import { delegationNotFound } from '#core/use-cases/delegations/create-delegation.ts';
import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { defineRoute } from '../route.ts';
import { DelegationPath } from './delegation-dto.ts';

export const revokeDelegationRoute = defineRoute({
  id: 'revokeDelegation',
  method: 'DELETE',
  path: '/v1/sandbox/{id}/delegations/{delegation_id}',
  tag: 'Delegations',
  summary: 'Revoke a delegation',
  description: 'At once and everywhere; what has been begun with its credential ends.',
  access: 'caller',
  params: DelegationPath,
  responses: { 204: { description: 'Revoked' } },
  errors: ['sandbox_not_found', 'delegation_not_found'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    if (!(await services.records.delegations.revoke(params.delegation_id, sandbox))) {
      throw delegationNotFound(params.delegation_id);
    }
    return { statusCode: 204, headers: {} };
  },
});
