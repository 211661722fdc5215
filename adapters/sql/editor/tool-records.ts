import type { EditorRecords } from '#core/ports/editor.ts';
import { instantText } from '../instant.ts';
import { keysetPage } from '../keyset-page.ts';
import { inTransaction, type SqlSession } from '../sql-session.ts';
import { sourceColumns, toolRow, toTool, toVersion, versionRow } from './editor-rows.ts';

type ToolRecords = Pick<
  EditorRecords,
  'createTool' | 'tool' | 'tools' | 'addVersion' | 'version' | 'versions'
>;

export function toolRecords({ dialect, once, repeatable }: SqlSession): ToolRecords {
  return {
    createTool: (tool, version) =>
      once((db) =>
        inTransaction(db, async (trx) => {
          await trx.insertInto('tools').values(toolRow(tool)).execute();
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
      ),

    tool: (id) =>
      repeatable(async (db) => {
        const row = await db.selectFrom('tools').selectAll().where('id', '=', id).executeTakeFirst();
        return row && toTool(row);
      }),

    tools: (owner, page) =>
      repeatable((db) => {
        const tools = db.selectFrom('tools').selectAll();
        const own = owner
          ? tools.where('owner_org', '=', owner.org).where('owner_user', '=', owner.user)
          : tools;
        return keysetPage(own, page, toTool);
      }),

    addVersion: (version) =>
      once((db) =>
        inTransaction(db, async (trx) => {
          // Numbers of one tool are given one after the other.
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
      ),

    version: (id) =>
      repeatable(async (db) => {
        const row = await db.selectFrom('tool_versions').selectAll().where('id', '=', id).executeTakeFirst();
        return row && toVersion(row);
      }),

    versions: (toolId, page) =>
      repeatable((db) =>
        keysetPage(db.selectFrom('tool_versions').selectAll().where('tool_id', '=', toolId), page, toVersion),
      ),
  };
}
