import type { Caller } from '../../callers.ts';
import { PortholeError } from '../../errors.ts';
import type { DraftChange, DraftRecord, ToolSource } from '../../ports/editor.ts';
import { draftLocked } from '../../rules/editor/draft-lock.ts';
import { checkSchemas, type CheckSchemasDeps } from './check-schemas.ts';
import { type DraftLockDeps, lockClaim } from './draft-lock.ts';
import { findTool, findVersion, toolNotFound } from './find-tool.ts';

export interface DraftWish {
  readonly fields: Partial<ToolSource>;
  /** Begin again from this version of the tool: what `fields` does not say comes from there. */
  readonly versionId?: string | undefined;
  /** Which must stand. */
  readonly revision?: number | undefined;
  readonly lockToken?: string | undefined;
}

/**
 * Changes the draft of a tool; only whoever holds its lock may.
 * @throws PortholeError `tool_not_found`, `tool_version_not_found`, `invalid_schema`, `draft_locked`, `draft_conflict`
 */
export async function saveDraft(
  deps: DraftLockDeps & CheckSchemasDeps,
  caller: Caller,
  toolId: string,
  { fields, versionId, revision, lockToken }: DraftWish,
): Promise<DraftRecord> {
  const { person } = await findTool(deps, caller, toolId);
  await checkSchemas(deps, person, fields);
  const change: DraftChange =
    versionId === undefined
      ? fields
      : { ...(await sourceOf(deps, caller, toolId, versionId)), ...fields, versionId };
  const claim = lockClaim(toolId, lockToken, deps.clock.now());
  const saving = await deps.records.editor.saveDraft(claim, change, person.user, revision);
  if (saving === undefined) throw toolNotFound(toolId);
  if (saving.kind === 'not_locked') throw draftLocked(saving.draft, claim.at);
  if (saving.kind === 'stale') {
    throw new PortholeError(
      'draft_conflict',
      `The draft is at revision ${saving.draft.revision}, not ${revision}: read it again, and save on top of that.`,
      { details: { revision: saving.draft.revision } },
    );
  }
  return saving.draft;
}

async function sourceOf(
  deps: DraftLockDeps,
  caller: Caller,
  toolId: string,
  versionId: string,
): Promise<ToolSource> {
  const { found } = await findVersion(deps, caller, versionId);
  if (found.tool.id !== toolId) {
    throw new PortholeError(
      'tool_version_not_found',
      `Tool version ${versionId} is not one of tool ${toolId}: GET /api/v1/editor/tools/${toolId}/versions lists them.`,
    );
  }
  const { entrypoint, sourceCode, language, inputSchema, settingsSchema, usageInstructions } = found.version;
  return { entrypoint, sourceCode, language, inputSchema, settingsSchema, usageInstructions };
}
