import { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import {
  type ActivityEvent,
  activityLog,
  type ActivityPosition,
  SANDBOX_ACTIVITY_TYPES,
} from '#core/runs/activity.ts';
import { readEventDetails } from '#core/runs/event-details.ts';
import { type EventLog, streamEvents } from '#core/runs/event-log.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { RUN_EVENT_TYPES, type RunEvent } from '#core/runs/timeline.ts';
import { sendHeartbeats } from '#core/sandboxes/sandbox-activity.ts';
import type { Records } from '#core/records.ts';
import {
  eventStream,
  EventId,
  FIRST_FRAME,
  followingOf,
  frame,
  NUMBERED,
  QUIET_FRAME,
} from '../http/event-stream-response.ts';
import { pageLimit, pageResponse } from '../http/read-input.ts';
import { json, type Route } from '../route.ts';
import type { Services } from '../services.ts';
import { defineRunRoute, RunPath } from './run-routes.ts';

/** One event of a run's timeline. */
const EventDto = z
  .object({
    id: z.string().describe('1, 2, 3 … within the run, without a gap'),
    type: z.enum(RUN_EVENT_TYPES),
    at: z.iso.datetime(),
    data: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .describe('Depends on the type; never a token or a URL'),
  })
  .meta({ id: 'RunEvent' });

function toEventDto({ seq, type, at, data }: RunEvent): z.infer<typeof EventDto> {
  return { id: String(seq), type, at: at.toISOString(), data };
}

/** How a log of a run is followed. */
interface FollowedLog<Position, Event extends { readonly seq: Position }> {
  /** How the id of a frame is read, and the position before the first event. */
  readonly position: { readonly schema: z.ZodType<Position>; readonly first: Position };
  readonly logOf: (records: Records, run: RunRecord) => EventLog<Position, Event>;
  /** The id of the event's frame. */
  readonly idOf: (event: Event) => string;
  readonly toDto: (event: Event) => object;
}

/** A route that streams a log of a run: its events, then each new one. */
function followRoute<Position, Event extends { readonly seq: Position; readonly type: string }>(
  id: string,
  path: string,
  texts: Pick<Route, 'summary' | 'description'>,
  { position, logOf, idOf, toDto }: FollowedLog<Position, Event>,
): Route {
  return defineRunRoute(id, 'GET', path, {
    ...texts,
    shared: { run: 'view' },
    tag: 'Runs',
    class: 'stream',
    agents: true,
    channel: true,
    query: z.object({
      after: position.schema.optional().describe('The same as `Last-Event-ID`, which takes precedence'),
    }),
    responses: { 200: { description: 'The events', contentType: 'text/event-stream' } },
    streams: true,
    async handle({ query, headers, caller, signal }, run, services) {
      const following = followingOf(services, run.id, position, {
        caller,
        headers,
        query: query.after,
        signal,
      });
      const watch = await watchOf(services, caller, run);
      const events = streamEvents(logOf(services.records, run), services.clock, following);
      async function* frames(): AsyncGenerator<string, void> {
        const unwatch = watch();
        const unfollow = services.followGuest(run.sandboxId);
        try {
          yield FIRST_FRAME;
          for await (const event of events) {
            if (event === undefined) {
              yield QUIET_FRAME;
              continue;
            }
            yield frame(event.type, JSON.stringify(toDto(event)), idOf(event));
            // An agent's token ends with its run.
            if (caller.kind === 'agent' && event.type === 'run.completed') return;
          }
        } finally {
          unfollow();
          unwatch();
        }
      }
      return eventStream(frames());
    },
  });
}

/**
 * A person who follows keeps the sandbox alive, and has its pages checked again after changes. An
 * agent must not keep itself alive.
 */
async function watchOf(services: Services, caller: Caller, run: RunRecord): Promise<() => () => void> {
  if (caller.kind === 'agent') return () => () => undefined;
  const sandbox = await services.records.sandboxes.get(run.sandboxId);
  return () => {
    const ends = [services.rechecker.follow(run)];
    if (sandbox !== undefined) ends.push(sendHeartbeats(services, sandbox));
    return () => ends.forEach((end) => end());
  };
}

const followTimelineRoute = followRoute(
  'followTimeline',
  '/api/runs/{id}/events',
  {
    summary: "Follow a run's timeline",
    description:
      'Server-sent events: every event of the timeline, then each new one as it happens. `id` and `event` are the `id` and `type` of the event in `data`. ' +
      'The header `Last-Event-ID` resumes without a gap or a repeat. A comment comes every 15 seconds without an event. The stream ends after an hour, and for the ' +
      "run's agent with its run: come back with `Last-Event-ID`.",
  },
  {
    position: NUMBERED,
    logOf: ({ timeline }) => timeline,
    idOf: ({ seq }) => String(seq),
    toDto: toEventDto,
  },
);

const readTimelineRoute = defineRunRoute('readTimeline', 'GET', '/api/runs/{id}/timeline', {
  shared: { run: 'view' },
  tag: 'Runs',
  summary: "Read a run's timeline",
  description:
    'What happened, oldest first. `next` is null on the last page; for newer events, send the id of the last known one as `after`.',
  agents: true,
  channel: true,
  query: z.object({
    limit: pageLimit,
    after: EventId.optional().describe('`next` of the previous page, or the `id` of any event'),
  }),
  responses: pageResponse('events', EventDto, 'Timeline'),
  async handle({ query }, run, services) {
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

/** `<last event of the run>.<last event of the sandbox>` */
const ActivityCursor = z
  .string()
  .regex(/^\d{1,9}\.\d{1,9}$/, 'must be the cursor of an event')
  .transform((text): ActivityPosition => {
    const [run = 0, sandbox = 0] = text.split('.').map(Number);
    return { run, sandbox };
  });

function cursorOf({ seq: { run, sandbox } }: ActivityEvent): string {
  return `${run}.${sandbox}`;
}

const ActivityEventDto = EventDto.extend({
  id: z.string().describe('Unique in the run, and the same at each read: `r` or `s` and a number'),
  type: z.enum([...RUN_EVENT_TYPES, ...SANDBOX_ACTIVITY_TYPES]),
  cursor: z.string().describe('As `after`, it returns newer events'),
}).meta({ id: 'ActivityEvent' });

function toActivityDto(event: ActivityEvent): z.infer<typeof ActivityEventDto> {
  const { id, type, at, data } = event;
  return { id, type, at: at.toISOString(), data, cursor: cursorOf(event) };
}

const readActivityRoute = defineRunRoute('readActivity', 'GET', '/api/runs/{id}/activity', {
  shared: { run: 'view' },
  tag: 'Runs',
  summary: 'List the activity of a run',
  description:
    'The timeline, and what was done in the sandbox while the run was active, oldest first: `command.exited` (`command`, `exit_code`, `duration_ms`), `file.written` and `file.deleted` (`path`), `network.requested` (`host`, `port`, `decision`, `rule`). Commands and files have `by`: `person` (with `user`), `agent` or `delegate`; their details have their own route. The sandbox keeps its last 1,000 events, for a day; the timeline keeps its own.',
  agents: true,
  channel: true,
  query: z.object({
    limit: pageLimit,
    after: ActivityCursor.optional().describe('`next` of the previous page, or the `cursor` of any event'),
  }),
  responses: pageResponse('events', ActivityEventDto, 'Activity'),
  async handle({ query }, run, services) {
    const { events, more } = await activityLog(services.records, run).read(run.id, {
      after: query.after ?? NOTHING_KNOWN,
      limit: query.limit,
    });
    const last = events.at(-1);
    return json(200, {
      events: events.map(toActivityDto),
      next: more && last !== undefined ? cursorOf(last) : null,
    });
  },
});

const EventDetailsDto = z
  .object({
    output: z
      .object({
        first: z.string().describe('The first 16 KiB; all of an output of 48 KiB at most'),
        last: z.string().describe('The last 32 KiB of a longer one'),
        omitted_bytes: z.number().int().describe('Bytes between the two'),
      })
      .nullable()
      .describe('Both streams of a command or a process, in the order of their arrival'),
    change: z
      .object({
        before: z.string().nullable().describe('What the file contained; null for a new file'),
        after: z.string(),
      })
      .nullable(),
    missing: z.string().nullable().describe('Why both are missing, as a sentence'),
  })
  .meta({ id: 'EventDetails' });

const detailsRoute = defineRunRoute('readEventDetails', 'GET', '/api/runs/{id}/activity/{event}/details', {
  shared: { run: 'view' },
  tag: 'Runs',
  summary: 'Read the output of a command, or the change of a file',
  description:
    'For events `command.exited`, `process.started`, `process.exited` and `file.written`. The running sandbox keeps the output of its latest commands and the contents of its latest files of at most 128 KiB, 4 MiB together, until it stops; files that are uploaded together are not among them. It resumes no sandbox. For callers who may read the files of the sandbox.',
  agents: true,
  channel: true,
  params: RunPath.extend({
    event: z
      .string()
      .regex(/^[rs]\d{1,9}$/, 'must be the id of an event of the activity')
      .describe('`id` of an event of the activity')
      .meta({ example: 's1' }),
  }),
  responses: { 200: { description: 'The details, or why there are none', schema: EventDetailsDto } },
  errors: ['not_found', 'exec_transport_error'],
  async handle({ params, caller, signal, redact }, run, services) {
    return json(200, await readEventDetails({ ...services, redact }, caller, run, params.event, signal));
  },
});

const NOTHING_KNOWN: ActivityPosition = { run: 0, sandbox: 0 };

const followActivityRoute = followRoute(
  'followActivity',
  '/api/runs/{id}/activity/events',
  {
    summary: 'Follow the activity of a run',
    description:
      'Server-sent events: the events of `GET /api/runs/{id}/activity`, then each new one as it happens. `event` is the `type` of the event in `data`, and `id` a cursor: the header `Last-Event-ID` resumes without a gap or a repeat. Otherwise like `GET /api/runs/{id}/events`.',
  },
  {
    position: { schema: ActivityCursor, first: NOTHING_KNOWN },
    logOf: activityLog,
    idOf: cursorOf,
    toDto: toActivityDto,
  },
);

export const timelineRoutes = [
  readTimelineRoute,
  followTimelineRoute,
  readActivityRoute,
  detailsRoute,
  followActivityRoute,
];
