import { completeRun } from '#core/use-cases/complete-run.ts';
import { findRun } from '#core/use-cases/find-run.ts';
import { defineRoute, json } from '../route.ts';
import { RunDto, RunPath, toRunDto } from './run-dto.ts';

export const completeRunRoute = defineRoute({
  id: 'completeRun',
  method: 'POST',
  path: '/api/runs/{id}/complete',
  tag: 'Runs',
  summary: 'Complete a run',
  description:
    'Its agent token is dead from then on, and approvals that still wait are withdrawn. Completing it again changes nothing.',
  access: 'caller',
  params: RunPath,
  responses: { 200: { description: 'The completed run', schema: RunDto } },
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found'],
  async handle({ params, caller }, services) {
    const run = await findRun(services, caller, params.id);
    return json(200, toRunDto(await completeRun(services, run)));
  },
});
