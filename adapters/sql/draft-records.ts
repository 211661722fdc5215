import type { Kysely } from 'kysely';
import type { DraftRecord, DraftRecords, DraftSaving } from '#core/editor/editor-store.ts';
import { holdsLock } from '#core/editor/editor-limits.ts';
import { first, instantText, some } from './sql-dialect.ts';
import type { SqlSchema } from './schema.ts';
import type { SqlSession } from './sql-session.ts';
import { changedColumns, lockColumns, toDraft, toLock } from './editor-rows.ts';

export function draftRecords({ dialect, once, repeatable, transact }: SqlSession): DraftRecords {
  return {
    get: (toolId) =>
      repeatable((db) =>
        first(db.selectFrom('tool_drafts').selectAll().where('tool_id', '=', toolId), toDraft),
      ),

    save: (claim, change, by, revision) =>
      transact(async (trx): Promise<DraftSaving | undefined> => {
        const draft = await holdDraft(trx, dialect, claim.toolId);
        if (draft === undefined) return undefined;
        if (!holdsLock(draft, claim)) return { kind: 'not_locked', draft };
        if (revision !== undefined && draft.revision !== revision) return { kind: 'stale', draft };
        const saved = await trx
          .updateTable('tool_drafts')
          .set({
            ...changedColumns(change),
            revision: draft.revision + 1,
            updated_at: instantText(claim.at),
            updated_by: by,
          })
          .where('tool_id', '=', claim.toolId)
          .returningAll()
          .executeTakeFirstOrThrow();
        return { kind: 'saved', draft: toDraft(saved) };
      }),

    // One statement: of two concurrent callers the second sees the first one's lock. Not
    // idempotent: a repeat would find its own lock.
    takeLock: (toolId, lock, at, over) =>
      once(async (db) => {
        const { org, user } = lock.holder;
        const taken = await db
          .updateTable('tool_drafts')
          .set(lockColumns(lock))
          .where('tool_id', '=', toolId)
          .$if(over !== 'any', (query) =>
            query.where((builder) =>
              builder.or([
                builder('lock_expires_at', 'is', null),
                builder('lock_expires_at', '<=', instantText(at)),
                ...(over === 'own'
                  ? [builder.and([builder('lock_org', '=', org), builder('lock_user', '=', user)])]
                  : []),
              ]),
            ),
          )
          .returningAll()
          .executeTakeFirst();
        if (taken !== undefined) return lock;
        const existing = await db
          .selectFrom('tool_drafts')
          .select(['lock_org', 'lock_user', 'lock_token_sha256', 'lock_expires_at'])
          .where('tool_id', '=', toolId)
          .executeTakeFirst();
        return (existing && toLock(existing)) ?? undefined;
      }),

    renewLock: ({ toolId, tokenSha256, at }, expiresAt) =>
      repeatable((db) =>
        some(
          db
            .updateTable('tool_drafts')
            .set({ lock_expires_at: instantText(expiresAt) })
            .where('tool_id', '=', toolId)
            .where('lock_token_sha256', '=', tokenSha256)
            .where('lock_expires_at', '>', instantText(at))
            .returning('tool_id'),
        ),
      ),

    releaseLock: ({ toolId, tokenSha256 }) =>
      once((db) =>
        some(
          db
            .updateTable('tool_drafts')
            .set({ lock_org: null, lock_user: null, lock_token_sha256: null, lock_expires_at: null })
            .where('tool_id', '=', toolId)
            .where('lock_token_sha256', '=', tokenSha256)
            .returning('tool_id'),
        ),
      ),
  };
}

/** The draft, locked with its editor lock until the transaction ends. */
export function holdDraft(
  trx: Kysely<SqlSchema>,
  { forUpdate }: SqlSession['dialect'],
  toolId: string,
): Promise<DraftRecord | undefined> {
  const draft = trx.selectFrom('tool_drafts').selectAll().where('tool_id', '=', toolId);
  return first(draft.modifyEnd(forUpdate), toDraft);
}
