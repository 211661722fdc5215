import { Readable } from 'node:stream';
import { ownerOf, requirePerson } from '#core/callers.ts';
import type { FollowWaiting } from '#core/use-cases/pending-approvals.ts';
import { EVENT_STREAM_HEADERS, FIRST_FRAME, followingOf, QUIET_FRAME } from '../event-stream.ts';
import { defineRoute } from '../route.ts';
import type { Services } from '../services.ts';
import { toWaitingApprovals } from './waiting-approval-dto.ts';

export const followApprovalsRoute = defineRoute({
  id: 'followApprovals',
  method: 'GET',
  path: '/api/approvals/events',
  tag: 'Approvals',
  summary: 'Follow what waits for your decision, in all of your runs',
  description:
    'Server-sent events of the type `approvals`: all that waits, at once and each time that something begins or ends to wait, as `GET /api/approvals` has it. A comment comes ' +
    'every 15 seconds in which nothing else does. The stream ends after an hour: come back.',
  access: 'caller',
  class: 'stream',
  responses: { 200: { description: 'The events', contentType: 'text/event-stream' } },
  streams: true,
  handle({ caller, signal }, services) {
    const person = requirePerson(caller, 'follow what waits for approval');
    const { quietMs, until, signals } = followingOf(services, '', { headers: {}, query: undefined, signal });
    const following = { owner: person.admin ? undefined : ownerOf(person), quietMs, until, signals };
    return Promise.resolve({
      statusCode: 200,
      headers: { ...EVENT_STREAM_HEADERS },
      body: Readable.from(frames(services, following)),
    });
  },
});

async function* frames(services: Services, following: FollowWaiting): AsyncGenerator<string, void> {
  yield FIRST_FRAME;
  for await (const waiting of services.pendingApprovals.follow(following)) {
    yield waiting === undefined
      ? QUIET_FRAME
      : `event: approvals\ndata: ${JSON.stringify(toWaitingApprovals(waiting))}\n\n`;
  }
}
