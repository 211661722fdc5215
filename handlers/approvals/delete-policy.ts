import { z } from 'zod';
import { requirePerson } from '#core/callers.ts';
import { deletePolicy } from '#core/use-cases/delete-policy.ts';
import { defineRoute } from '../route.ts';

export const deletePolicyRoute = defineRoute({
  id: 'deleteApprovalPolicy',
  method: 'DELETE',
  path: '/api/approval-policies/{id}',
  tag: 'Approvals',
  summary: 'Delete an approval policy',
  description: 'What it covered is asked about again. What it has approved stays approved.',
  access: 'caller',
  params: z.object({ id: z.string().max(200).describe('`policy_id`') }),
  responses: { 204: { description: 'Deleted' } },
  errors: ['policy_not_found'],
  async handle({ params, caller }, services) {
    await deletePolicy(services, requirePerson(caller, 'delete approval policies'), params.id);
    return { statusCode: 204, headers: {} };
  },
});
