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
    'Its agent token stops working, and pending approvals are withdrawn. Its sandbox stops and keeps its files, unless another run is active in it or one of its previews is kept. Completing it again changes nothing.',
  access: 'caller',
  params: RunPath,
  responses: { 200: { description: 'The completed run', schema: RunDto } },
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found'],
  async handle({ params, caller }, services) {
    const run = await findRun(services, caller, params.id);
    return json(200, toRunDto(await completeRun(services, run)));
  },
});
