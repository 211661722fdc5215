import { Readable } from 'node:stream';
import { z } from 'zod';
import { findRun } from '#core/use-cases/find-run.ts';
import { type EventStreamOptions, streamEvents } from '#core/use-cases/stream-events.ts';
import { sendHeartbeats } from '#core/use-cases/send-heartbeats.ts';
import { EventId } from '../event-id.ts';
import { EVENT_STREAM_HEADERS, FIRST_FRAME, followingOf, QUIET_FRAME } from '../event-stream.ts';
import { defineRoute } from '../route.ts';
import type { Services } from '../services.ts';
import { toEventDto } from './event-dto.ts';
import { RunPath } from './run-dto.ts';

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
  class: 'stream',
  agents: true,
  channel: true,
  params: RunPath,
  query: z.object({ after: EventId.optional().describe('The same as `Last-Event-ID`, which wins') }),
  responses: { 200: { description: 'The events', contentType: 'text/event-stream' } },
  streams: true,
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found'],
  async handle({ params, query, headers, caller, signal }, services) {
    const run = await findRun(services, caller, params.id, { agents: true });
    const following = followingOf(services, run.id, { headers, query: query.after, signal });
    // A person who looks at it wants its sandbox; an agent would keep itself alive.
    const sandbox = caller.kind === 'agent' ? undefined : await services.records.sandboxes.get(run.sandboxId);
    const watch = () => (sandbox === undefined ? () => undefined : sendHeartbeats(services, sandbox));
    return {
      statusCode: 200,
      headers: { ...EVENT_STREAM_HEADERS },
      body: Readable.from(
        frames(services, following, {
          untilCompleted: caller.kind === 'agent',
          sandboxId: run.sandboxId,
          watch,
        }),
      ),
    };
  },
});

async function* frames(
  services: Services,
  following: EventStreamOptions,
  {
    untilCompleted,
    sandboxId,
    watch,
  }: { readonly untilCompleted: boolean; readonly sandboxId: string; readonly watch: () => () => void },
): AsyncGenerator<string, void> {
  const unwatch = watch();
  const unfollow = services.followGuest(sandboxId);
  try {
    yield FIRST_FRAME;
    for await (const event of streamEvents(services.records.timeline, services.clock, following)) {
      if (event === undefined) {
        yield QUIET_FRAME;
        continue;
      }
      const dto = toEventDto(event);
      yield `id: ${dto.id}\nevent: ${dto.type}\ndata: ${JSON.stringify(dto)}\n\n`;
      // An agent's token dies with its run.
      if (untilCompleted && event.type === 'run.completed') return;
    }
  } finally {
    unfollow();
    unwatch();
  }
}
