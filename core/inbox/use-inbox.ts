import { actorOn, type Caller, roleOn } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { Picture } from '../pages/page-browser.ts';
import { author } from '../previews/preview-events.ts';
import type { Actor, NewEvent } from '../runs/timeline.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Clock, Ids } from '#base/clock-and-ids.ts';
import { plainLines } from '#base/plain-text.ts';
import type { Records } from '../records.ts';
import type { InboxMessage, InboxPin } from './inbox-store.ts';

/** Comments and replies of one run. */
export const MAX_MESSAGES = 200;
/** In characters. */
export const MAX_MESSAGE_CHARS = 2_000;

export interface InboxDeps {
  readonly records: Pick<Records, 'inbox'>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'message'>;
}

export interface NewMessage {
  readonly text: string;
  readonly pin?: InboxPin | null;
  readonly picture?: Picture | null;
  /** The comment that this replies to. */
  readonly replyTo?: string;
}

/**
 * Adds a comment of a person, or a reply of either side, to the run's inbox, and its event to the
 * timeline. The event has no text: unlike the message it is stored unsealed.
 * @throws PortholeError `run_ended`, `too_many_messages`, `message_not_found` for `replyTo`
 */
export async function postMessage(
  { records, clock, ids }: InboxDeps,
  { run, caller }: { readonly run: RunRecord; readonly caller: Caller },
  { text, pin = null, picture = null, replyTo }: NewMessage,
): Promise<InboxMessage> {
  const root = replyTo === undefined ? undefined : await findMessage({ records }, run, replyTo);
  const message: InboxMessage = {
    id: ids.message(),
    runId: run.id,
    // A reply to a reply belongs to the same comment.
    replyTo: root === undefined ? null : (root.replyTo ?? root.id),
    by: roleOn(run, caller),
    at: clock.now(),
    readAt: null,
    text: plainLines(text, MAX_MESSAGE_CHARS),
    pin,
    hasPicture: picture !== null,
  };
  const event = inboxEvent(message, actorOn(run, caller));
  const added = await records.inbox.add(message, picture, { owner: run.owner, most: MAX_MESSAGES, event });
  if (added === 'added') return message;
  throw added === 'ended'
    ? new PortholeError('run_ended', `Run ${run.id} is completed`, { remedy: 'start another run.' })
    : new PortholeError(
        'too_many_messages',
        `The inbox of run ${run.id} has ${MAX_MESSAGES} messages, the maximum`,
        { remedy: 'start another run.' },
      );
}

function inboxEvent({ id, replyTo, pin }: InboxMessage, actor: Actor): NewEvent {
  return {
    type: replyTo === null ? 'inbox.posted' : 'inbox.replied',
    key: `inbox:${id}`,
    data: {
      message: id,
      ...author(actor),
      ...(replyTo !== null && { reply_to: replyTo }),
      ...(pin !== null && { target_port: pin.port }),
    },
  };
}

/** @throws PortholeError `message_not_found` */
export async function findMessage(
  { records }: Pick<InboxDeps, 'records'>,
  run: RunRecord,
  id: string,
): Promise<InboxMessage & { readonly picture: Picture | null }> {
  const found = await records.inbox.get(run.id, id, run.owner);
  if (found !== undefined) return found;
  throw new PortholeError(
    'message_not_found',
    `Run ${run.id} has no message ${JSON.stringify(id.slice(0, 40))}`,
    { remedy: `GET /api/runs/${run.id}/inbox lists them.` },
  );
}

/**
 * The run's messages, oldest first. `unread`: only those of the other side that the caller's side
 * has not read.
 */
export async function listMessages(
  { records }: Pick<InboxDeps, 'records'>,
  { run, caller }: { readonly run: RunRecord; readonly caller: Caller },
  { unread = false }: { readonly unread?: boolean } = {},
): Promise<readonly InboxMessage[]> {
  const all = await records.inbox.list(run.id, run.owner);
  const isAgent = caller.kind === 'agent';
  return unread ? all.filter(({ by, readAt }) => readAt === null && (by === 'agent') !== isAgent) : all;
}

/** Marks messages of the other side as read. Unknown ids are ignored. */
export function markRead(
  { records, clock }: Pick<InboxDeps, 'records' | 'clock'>,
  { run, caller }: { readonly run: RunRecord; readonly caller: Caller },
  ids: readonly string[],
): Promise<void> {
  return records.inbox.markRead(run.id, ids, { isAgent: caller.kind === 'agent', at: clock.now() });
}
