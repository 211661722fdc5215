import { Readable } from 'node:stream';
import { z } from 'zod';
import { type EventStreamOptions, streamEvents } from '#core/runs/event-log.ts';
import { findRun } from '#core/runs/find-run.ts';
import type { RunEvent, RunEventType } from '#core/runs/timeline.ts';
import { sendHeartbeats } from '#core/sandboxes/sandbox-activity.ts';
import {
  EVENT_STREAM_HEADERS,
  EventId,
  FIRST_FRAME,
  followingOf,
  QUIET_FRAME,
} from '../http/event-stream-response.ts';
import { pageLimit } from '../http/read-input.ts';
import { defineRoute, json } from '../route.ts';
import type { Services } from '../services.ts';
import { RunPath } from './run-routes.ts';

const TYPES = [
  'run.created',
  'run.completed',
  'agent.connected',
  'sandbox.created',
  'sandbox.stopped',
  'sandbox.resumed',
  'sandbox.destroyed',
  'preview.opened',
  'preview.kept',
  'preview.stopped',
  'preview.reaped',
  'preview.looked',
  'tool.approval_required',
  'tool.approved',
  'tool.denied',
  'tool.timed_out',
  'tool.withdrawn',
  'port.listening',
  'port.closed',
  'server.changed',
  'process.started',
  'process.exited',
] as const satisfies readonly RunEventType[];

/** One event of a run's timeline. */
const EventDto = z
  .object({
    id: z.string().describe('1, 2, 3 … within the run, without a gap'),
    type: z.enum(TYPES),
    at: z.iso.datetime(),
    data: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .describe('What the type says; never a token or a URL'),
  })
  .meta({ id: 'RunEvent' });

function toEventDto({ seq, type, at, data }: RunEvent): z.infer<typeof EventDto> {
  return { id: String(seq), type, at: at.toISOString(), data };
}

export const followTimelineRoute = defineRoute({
  id: 'followTimeline',
  method: 'GET',
  path: '/api/runs/{id}/events',
  tag: 'Runs',
  summary: "Follow a run's timeline",
  description:
    'Server-sent events: every event of the timeline, then each new one as it happens. `id` and `event` are the `id` and `type` of the event in `data`. ' +
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
    // A person who follows it keeps its sandbox alive; an agent must not keep itself alive.
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
      // An agent's token ends with its run.
      if (untilCompleted && event.type === 'run.completed') return;
    }
  } finally {
    unfollow();
    unwatch();
  }
}

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
