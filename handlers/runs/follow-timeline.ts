import { Readable } from 'node:stream';
import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { findRun } from '#core/use-cases/find-run.ts';
import { followTimeline, type Following } from '#core/use-cases/follow-timeline.ts';
import { keepBeating } from '#core/use-cases/keep-beating.ts';
import { defineRoute } from '../route.ts';
import type { Services } from '../services.ts';
import { EventId, toEventDto } from './event-dto.ts';
import { RunPath } from './run-dto.ts';

/** Keeps what stands in between from taking the silence for a dead connection, and shows dead connections for what they are. */
const HEARTBEAT_MS = 15_000;
/** After this long the client comes back by itself, and its credential is judged anew. */
const LONGEST_MS = 3_600_000;

export const followTimelineRoute = defineRoute({
  id: 'followTimeline',
  method: 'GET',
  path: '/api/runs/{id}/events',
  tag: 'Runs',
  summary: "Follow a run's timeline",
  description:
    'Server-sent events: every event of the timeline, then each new one as it happens. `id` and `event` are the `id` and `type` of the event that stands, whole, in `data`. ' +
    'The header `Last-Event-ID` resumes without a gap or a repeat. A comment comes every 15 seconds in which nothing else does. The stream ends after an hour, and for the ' +
    "run's agent with its run: come back with `Last-Event-ID`.",
  access: 'caller',
  agents: true,
  params: RunPath,
  query: z.object({ after: EventId.optional().describe('The same as `Last-Event-ID`, which wins') }),
  responses: { 200: { description: 'The events', contentType: 'text/event-stream' } },
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found', 'not_streamable'],
  async handle({ params, query, headers, caller, signal }, services) {
    const run = await findRun(services, caller, params.id, { agents: true });
    const following: Following = {
      runId: run.id,
      after: lastEventId(headers['last-event-id']) ?? query.after ?? 0,
      quietMs: HEARTBEAT_MS,
      until: new Date(services.clock.now().getTime() + LONGEST_MS),
      signals: [signal, services.stopping],
    };
    // A person who looks at it wants its sandbox; an agent would keep itself alive.
    const sandbox = caller.kind === 'agent' ? undefined : await services.records.sandboxes.get(run.sandboxId);
    const watch = () => (sandbox === undefined ? () => undefined : keepBeating(services, sandbox));
    return {
      statusCode: 200,
      headers: {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
      },
      body: Readable.from(frames(services, following, { untilCompleted: caller.kind === 'agent', watch })),
    };
  },
});

async function* frames(
  services: Services,
  following: Following,
  { untilCompleted, watch }: { readonly untilCompleted: boolean; readonly watch: () => () => void },
): AsyncGenerator<string, void> {
  const unwatch = watch();
  try {
    yield 'retry: 1000\n\n';
    for await (const event of followTimeline(services, following)) {
      if (event === undefined) {
        yield ': heartbeat\n\n';
        continue;
      }
      const dto = toEventDto(event);
      yield `id: ${dto.id}\nevent: ${dto.type}\ndata: ${JSON.stringify(dto)}\n\n`;
      // An agent's token dies with its run.
      if (untilCompleted && event.type === 'run.completed') return;
    }
  } finally {
    unwatch();
  }
}

/** @throws PortholeError `invalid_request` */
function lastEventId(header: string | undefined): number | undefined {
  if (header === undefined || header === '') return undefined;
  const { success, data } = EventId.safeParse(header);
  if (success) return data;
  throw new PortholeError(
    'invalid_request',
    `Last-Event-ID: must be the id of an event, got ${JSON.stringify(header.slice(0, 40))}.`,
  );
}
