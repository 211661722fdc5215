import { renewDelegation } from '#core/use-cases/delegations/create-delegation.ts';
import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { CredentialDto, DelegationPath, toCredentialDto } from './delegation-dto.ts';

export const renewDelegationRoute = defineRoute({
  id: 'renewDelegation',
  method: 'POST',
  path: '/v1/sandbox/{id}/delegations/{delegation_id}/renew',
  tag: 'Delegations',
  summary: 'Make a delegation last for its time again',
  description:
    'For its `ttl_seconds`, from now on. The credential that the delegate has goes on; the one in the answer is signed by the present key.',
  access: 'caller',
  params: DelegationPath,
  responses: { 200: { description: 'Until when it lasts', schema: CredentialDto } },
  errors: ['sandbox_not_found', 'delegation_not_found', 'delegation_not_renewable'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    const delegated = await renewDelegation(services, sandbox, params.delegation_id);
    return json(200, toCredentialDto(delegated), { 'cache-control': 'no-store' });
  },
});
