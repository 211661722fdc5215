import { z } from 'zod';
import { findRun } from '#core/use-cases/find-run.ts';
import { pageLimit } from '../page-limit.ts';
import { defineRoute, json } from '../route.ts';
import { EventId } from '../event-id.ts';
import { EventDto, toEventDto } from './event-dto.ts';
import { RunPath } from './run-dto.ts';

export const readTimelineRoute = defineRoute({
  id: 'readTimeline',
  method: 'GET',
  path: '/api/runs/{id}/timeline',
  tag: 'Runs',
  summary: "Read a run's timeline",
  description:
    'What happened, oldest first. `next` is null on the last page; the id of the last event that you know, as `after`, gives what came since.',
  access: 'caller',
  agents: true,
  channel: true,
  params: RunPath,
  query: z.object({
    limit: pageLimit,
    after: EventId.optional().describe('`next` of the page before, or the `id` of any event'),
  }),
  responses: {
    200: {
      description: 'A page of events',
      schema: z.object({ events: z.array(EventDto), next: z.string().nullable() }).meta({ id: 'Timeline' }),
    },
  },
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found'],
  async handle({ params, query, caller }, services) {
    const run = await findRun(services, caller, params.id, { agents: true });
    const { events, more } = await services.records.timeline.read(run.id, {
      after: query.after ?? 0,
      limit: query.limit,
    });
    const last = events.at(-1);
    return json(200, {
      events: events.map(toEventDto),
      next: more && last !== undefined ? String(last.seq) : null,
    });
  },
});
