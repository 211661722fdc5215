import { ownerOf, requirePerson } from '#core/callers.ts';
import { MOST_WAITING } from '#core/use-cases/pending-approvals.ts';
import { defineRoute, json } from '../route.ts';
import { toWaitingApprovals, WaitingApprovals } from './waiting-approval-dto.ts';

export const listApprovalsRoute = defineRoute({
  id: 'listApprovals',
  method: 'GET',
  path: '/api/approvals',
  tag: 'Approvals',
  summary: 'List what waits for your decision, in all of your runs',
  access: 'caller',
  responses: { 200: { description: 'What waits now', schema: WaitingApprovals } },
  async handle({ caller }, { records, clock }) {
    const person = requirePerson(caller, 'list what waits for approval');
    const owner = person.admin ? undefined : ownerOf(person);
    return json(200, toWaitingApprovals(await records.approvals.waiting(owner, clock.now(), MOST_WAITING)));
  },
});
