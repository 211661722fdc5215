import { z } from 'zod';
import { ownerOf, requirePerson } from '#core/callers.ts';
import { pageLimit } from '../page-limit.ts';
import { defineRoute, json } from '../route.ts';
import { RunDto, toRunDto } from './run-dto.ts';

export const listRunsRoute = defineRoute({
  id: 'listRuns',
  method: 'GET',
  path: '/api/runs',
  tag: 'Runs',
  summary: 'List your runs, newest first',
  access: 'caller',
  query: z.object({
    limit: pageLimit,
    after: z.string().max(500).optional().describe('`next` of the page before'),
  }),
  responses: {
    200: {
      description: 'A page of runs; `next` is null on the last one',
      schema: z.object({ runs: z.array(RunDto), next: z.string().nullable() }).meta({ id: 'RunList' }),
    },
  },
  async handle({ query, caller }, { records }) {
    const person = requirePerson(caller, 'list runs');
    const page = await records.runs.list(person.admin ? undefined : ownerOf(person), query);
    return json(200, { runs: page.items.map(toRunDto), next: page.next });
  },
});
