import { z } from 'zod';
import { deletePolicy } from '#core/approvals/approval-decisions.ts';
import { POLICY_SCOPE_NAMES, scopeOf } from '#core/approvals/approval-scopes.ts';
import type { PolicyRecord } from '#core/approvals/approval-store.ts';
import { listedOwner } from '#core/callers.ts';
import { pageQuery, pageResponse } from '../http/read-input.ts';
import { ID_PATTERN, defineRoute, json } from '../route.ts';

const deletePolicyRoute = defineRoute('deleteApprovalPolicy', 'DELETE', '/api/approval-policies/{id}', {
  tag: 'Approvals',
  summary: 'Delete an approval policy',
  description: 'Its requests need approval again. Past approvals stay.',
  params: z.object({ id: z.string().max(200).describe('`policy_id`').meta({ pattern: ID_PATTERN }) }),
  responses: { 204: { description: 'Deleted' } },
  errors: ['policy_not_found'],
  async handle({ params, person }, services) {
    await deletePolicy(services, person, params.id);
    return { statusCode: 204, headers: {} };
  },
});

const PolicyDto = z
  .object({
    policy_id: z.string().describe('`pol_` + ULID'),
    owner: z.string().describe('The owner of the runs that it covers'),
    tool: z.string(),
    scope: z.enum(POLICY_SCOPE_NAMES),
    run_id: z.string().nullable().describe('The one run that it covers; null: all'),
    target_port: z.int().nullable().describe('The one port that it covers; null: any'),
    created_at: z.iso.datetime(),
    created_by: z.string().describe('The user who approved'),
  })
  .meta({ id: 'ApprovalPolicy' });

const listPoliciesRoute = defineRoute('listApprovalPolicies', 'GET', '/api/approval-policies', {
  tag: 'Approvals',
  summary: 'List your approval policies, newest first',
  query: z.object(pageQuery),
  responses: pageResponse('policies', PolicyDto, 'ApprovalPolicyList'),
  async handle({ query, person }, { records }) {
    const page = await records.policies.list(listedOwner(person), query);
    return json(200, { policies: page.items.map(toPolicyDto), next: page.next });
  },
});

function toPolicyDto(policy: PolicyRecord): z.infer<typeof PolicyDto> {
  return {
    policy_id: policy.id,
    owner: policy.owner.user,
    tool: policy.tool,
    scope: scopeOf(policy),
    run_id: policy.runId,
    target_port: policy.targetPort,
    created_at: policy.createdAt.toISOString(),
    created_by: policy.createdBy,
  };
}

export const policyRoutes = [listPoliciesRoute, deletePolicyRoute];
