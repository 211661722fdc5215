import type { InboxMessage, InboxPin, InboxRecords } from '#core/inbox/inbox-store.ts';
import type { Picture } from '#core/pages/page-browser.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { OwnerSeals } from './owner-seals.ts';
import { holdRun, publishingTransaction } from './publishing-transaction.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import type { Row } from './schema.ts';
import { all, count, done, instantText } from './sql-dialect.ts';
import type { SqlSession } from './sql-session.ts';

const WHAT = 'a message of an inbox';
/** Shown for a message that no key opens. */
const UNREADABLE = '(unreadable)';
/** All but the picture. */
const COLUMNS = ['id', 'run_id', 'reply_to', 'by', 'at', 'read_at', 'content'] as const;

interface Content {
  readonly text: string;
  readonly pin: InboxPin | null;
  readonly hasPicture: boolean;
}

export function inboxRecords(session: SqlSession, { seal, open }: OwnerSeals): InboxRecords {
  const { dialect, once, repeatable } = session;
  const toMessage = (
    row: Pick<Row<'inbox_messages'>, (typeof COLUMNS)[number]>,
    owner: Owner,
  ): InboxMessage => {
    const json = open('inbox_messages.content', owner, row.content, WHAT);
    const content: Content =
      json === undefined ? { text: UNREADABLE, pin: null, hasPicture: false } : (JSON.parse(json) as Content);
    const { content: _, ...message } = fieldsOf(row);
    return { ...message, ...content };
  };
  return {
    // Not idempotent: a repeat would find its own row.
    add: (message, picture, { owner, most, event }) =>
      once((db) =>
        publishingTransaction(session, db, async (trx, publish) => {
          const { runId, at, text, pin, hasPicture } = message;
          const content: Content = { text, pin, hasPicture };
          const run = await holdRun(trx, dialect, runId);
          if (run?.status !== 'running') return 'ended';
          const stored = await count(trx.selectFrom('inbox_messages').where('run_id', '=', runId));
          if (stored >= most) return 'too_many';
          await trx
            .insertInto('inbox_messages')
            .values({
              ...columnsOf(message, ['id', 'runId', 'replyTo', 'by', 'at', 'readAt']),
              content: seal('inbox_messages.content', owner, JSON.stringify(content)),
              picture: picture && seal('inbox_messages.picture', owner, JSON.stringify(picture)),
            })
            .execute();
          await publish(runId, [event], at);
          return 'added';
        }),
      ),

    list: (runId, owner) =>
      repeatable((db) => {
        const messages = db.selectFrom('inbox_messages').select(COLUMNS).where('run_id', '=', runId);
        return all(messages.orderBy('at').orderBy('id'), (row) => toMessage(row, owner));
      }),

    get: (runId, id, owner) =>
      repeatable(async (db) => {
        const row = await db
          .selectFrom('inbox_messages')
          .selectAll()
          .where('run_id', '=', runId)
          .where('id', '=', id)
          .executeTakeFirst();
        if (row === undefined) return undefined;
        const json = row.picture && open('inbox_messages.picture', owner, row.picture, WHAT);
        return { ...toMessage(row, owner), picture: json ? (JSON.parse(json) as Picture) : null };
      }),

    markRead: (runId, ids, { isAgent, at }) =>
      repeatable((db) =>
        done(
          db
            .updateTable('inbox_messages')
            .set({ read_at: instantText(at) })
            .where('run_id', '=', runId)
            .where(dialect.among('id', ids))
            .where('by', isAgent ? '!=' : '=', 'agent')
            .where('read_at', 'is', null),
        ),
      ),
  };
}
