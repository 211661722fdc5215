import type { ToolRecords, ToolRemoval } from '#core/editor/editor-store.ts';
import { activeLock, holdsLock } from '#core/editor/editor-limits.ts';
import { first, instantText, ownedBy, some } from './sql-dialect.ts';
import { keysetPage } from './keyset-page.ts';
import type { SqlSession } from './sql-session.ts';
import { holdDraft } from './draft-records.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import { sourceColumns, toVersion, versionRow } from './editor-rows.ts';

export function toolRecords({ dialect, repeatable, transact }: SqlSession): ToolRecords {
  return {
    create: (tool, version) =>
      transact(async (trx) => {
        await trx
          .insertInto('tools')
          .values(columnsOf(tool, ['id', 'owner', 'name', 'createdAt']))
          .execute();
        await trx
          .insertInto('tool_versions')
          .values(versionRow({ ...version, number: 1 }))
          .execute();
        await trx
          .insertInto('tool_drafts')
          .values({
            tool_id: tool.id,
            version_id: version.id,
            revision: 1,
            updated_at: instantText(version.createdAt),
            updated_by: version.createdBy,
            lock_org: null,
            lock_user: null,
            lock_token_sha256: null,
            lock_expires_at: null,
            ...sourceColumns(version),
          })
          .execute();
      }),

    get: (id) => repeatable((db) => first(db.selectFrom('tools').selectAll().where('id', '=', id), fieldsOf)),

    list: (owner, page) =>
      repeatable((db) => {
        const tools = db.selectFrom('tools').selectAll();
        return keysetPage(owner ? tools.where(ownedBy(owner)) : tools, page, fieldsOf);
      }),

    rename: (id, name) =>
      repeatable((db) => some(db.updateTable('tools').set({ name }).where('id', '=', id).returning('id'))),

    remove: (claim) =>
      transact(async (trx): Promise<ToolRemoval | undefined> => {
        const { toolId, at } = claim;
        const draft = await holdDraft(trx, dialect, toolId);
        if (draft === undefined) return undefined;
        if (activeLock(draft.lock, at) !== undefined && !holdsLock(draft, claim)) {
          return { kind: 'not_locked', draft };
        }
        await trx
          .updateTable('sandbox_snapshots')
          .set({ expires_at: instantText(at) })
          .where('id', 'in', (builder) =>
            builder.selectFrom('tool_runs').select('snapshot_id').where('tool_id', '=', toolId),
          )
          .where('expires_at', '>', instantText(at))
          .execute();
        await trx.deleteFrom('tool_runs').where('tool_id', '=', toolId).execute();
        await trx.deleteFrom('tool_versions').where('tool_id', '=', toolId).execute();
        await trx.deleteFrom('tool_drafts').where('tool_id', '=', toolId).execute();
        await trx.deleteFrom('tools').where('id', '=', toolId).execute();
        return { kind: 'removed' };
      }),

    addVersion: (version) =>
      transact(async (trx) => {
        // Version numbers of one tool are serialized.
        const tool = await trx
          .selectFrom('tool_drafts')
          .select('tool_id')
          .where('tool_id', '=', version.toolId)
          .modifyEnd(dialect.forUpdate)
          .executeTakeFirst();
        if (tool === undefined) return undefined;
        const last = await trx
          .selectFrom('tool_versions')
          .select('number')
          .where('tool_id', '=', version.toolId)
          .orderBy('number', 'desc')
          .limit(1)
          .executeTakeFirst();
        const added = { ...version, number: (last?.number ?? 0) + 1 };
        await trx.insertInto('tool_versions').values(versionRow(added)).execute();
        return added;
      }),

    version: (id) =>
      repeatable((db) => first(db.selectFrom('tool_versions').selectAll().where('id', '=', id), toVersion)),

    versions: (toolId, page) =>
      repeatable((db) =>
        keysetPage(db.selectFrom('tool_versions').selectAll().where('tool_id', '=', toolId), page, toVersion),
      ),
  };
}
