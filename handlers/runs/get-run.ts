import { findRun } from '#core/use-cases/find-run.ts';
import { defineRoute, json } from '../route.ts';
import { RunDto, RunPath, toRunDto } from './run-dto.ts';

export const getRunRoute = defineRoute({
  id: 'getRun',
  method: 'GET',
  path: '/api/runs/{id}',
  tag: 'Runs',
  summary: 'Read a run',
  access: 'caller',
  agents: true,
  channel: true,
  params: RunPath,
  responses: { 200: { description: 'The run', schema: RunDto } },
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found'],
  async handle({ params, caller }, services) {
    return json(200, toRunDto(await findRun(services, caller, params.id, { agents: true })));
  },
});
