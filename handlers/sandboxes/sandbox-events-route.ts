import { z } from 'zod';
import type { Caller } from '#core/callers.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { type EventStreamOptions, streamEvents } from '#core/runs/event-log.ts';
import { sendHeartbeats } from '#core/sandboxes/sandbox-activity.ts';
import {
  EventId,
  eventStream,
  FIRST_FRAME,
  followingOf,
  frame,
  NUMBERED,
  QUIET_FRAME,
} from '../http/event-stream-response.ts';
import { defineRoute } from '../route.ts';
import type { Services } from '../services.ts';
import { SandboxPath } from './sandbox-path.ts';

export const followSandboxRoute = defineRoute('followSandbox', 'GET', '/v1/sandbox/{id}/events', {
  shared: { sandbox: 'view' },
  tag: 'Sandboxes',
  summary: 'Follow the events of a sandbox',
  description:
    'Server-sent events, each `event: sandbox`: first `{"type": "connected", "sandbox_id"}`, then, with an `id` and an `at`, `file_written` and `file_deleted` (`path`), `exec` (`command`, without credentials of Porthole, `exit_code` and `duration_ms`), `stopped` (with a `reason` if its provider stopped it), `resumed`, `preview_opened` (`target_port`), `port_listening` and `port_closed` (`port`), `server` (`server`, `state`, `reason`), `process_started` (`process_id`, `name`, `command`, `started_by`) and `process_exited` (also `exit_code`, `signal`, `reason`, `duration_ms`). ' +
    'Files and commands have `by`: `person` (with `user`), `agent` or `delegate`. All but the last four cover only actions through Porthole, by any caller. The header `Last-Event-ID` resumes; the last 1,000 of a day are kept. A comment comes every 15 seconds without an event. The stream ends after an hour.',
  class: 'stream',
  delegates: { scope: 'fs:read' },
  params: SandboxPath,
  query: z.object({
    after: EventId.optional().describe('The same as `Last-Event-ID`, which takes precedence'),
  }),
  responses: { 200: { description: 'The events', contentType: 'text/event-stream' } },
  streams: true,
  errors: ['sandbox_not_found'],
  async handle({ params, query, headers, caller, signal }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    const following = followingOf(services, sandbox.id, NUMBERED, {
      caller,
      headers,
      query: query.after,
      signal,
    });
    return eventStream(frames(services, sandbox, following, caller));
  },
});

async function* frames(
  services: Services,
  sandbox: SandboxRecord,
  following: EventStreamOptions,
  caller: Caller,
): AsyncGenerator<string, void> {
  // A delegate's requests are not heartbeats of the owner.
  const rest = caller.kind === 'person' ? sendHeartbeats(services, sandbox) : () => undefined;
  const unfollow = services.followGuest(sandbox.id);
  try {
    yield FIRST_FRAME;
    yield sandboxFrame({ type: 'connected', sandbox_id: sandbox.id });
    for await (const event of streamEvents(services.records.sandboxEvents, services.clock, following)) {
      if (event !== undefined) {
        const { seq, type, at } = event;
        // Details are read in the activity of a run only.
        const { detail: _, ...data } = event.data;
        yield sandboxFrame({ type, at: at.toISOString(), ...data }, seq);
        continue;
      }
      const { generation, desired } = (await services.records.sandboxes.get(sandbox.id)) ?? {};
      if (generation !== sandbox.generation || desired === 'destroyed') return;
      yield QUIET_FRAME;
    }
  } finally {
    unfollow();
    rest();
  }
}

function sandboxFrame(data: object, id?: number): string {
  return frame('sandbox', JSON.stringify(data), id);
}
