import { type Caller, ownerOf, requirePerson } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { Clock, Ids } from '#base/clock-and-ids.ts';
import { type DraftLockDeps, lockClaim } from './draft-lock.ts';
import { draftLocked, sourceOf } from './editor-limits.ts';
import type { DraftChange, DraftRecord, ToolRecord, ToolSource, ToolVersionRecord } from './editor-store.ts';
import { findDraft, findTool, type FindToolDeps, findVersion, toolNotFound } from './find-tool.ts';
import { checkSchemas, type CheckSchemasDeps } from './tool-schemas.ts';

interface AddVersionDeps extends FindToolDeps, CheckSchemasDeps {
  readonly clock: Clock;
  readonly ids: Ids;
}

/**
 * Creates a tool with its first version, which is also its draft.
 * @throws PortholeError `forbidden`, `invalid_schema`
 */
export async function createTool(
  deps: AddVersionDeps,
  caller: Caller,
  name: string,
  source: ToolSource,
): Promise<{ readonly tool: ToolRecord; readonly versionId: string }> {
  const person = requirePerson(caller, 'make tools');
  await checkSchemas(deps, person, source);
  const createdAt = deps.clock.now();
  const tool = { id: deps.ids.tool(), owner: ownerOf(person), name, createdAt };
  const versionId = deps.ids.toolVersion();
  const version = { id: versionId, toolId: tool.id, createdAt, createdBy: person.user, ...source };
  await deps.records.tools.create(tool, version);
  return { tool, versionId };
}

/**
 * Adds a version to a tool. Fields that `fields` omits come from the draft, which does not change.
 * @throws PortholeError `tool_not_found`, `invalid_schema`
 */
export async function addVersion(
  deps: AddVersionDeps,
  caller: Caller,
  toolId: string,
  fields: Partial<ToolSource>,
): Promise<ToolVersionRecord> {
  const { person, found: draft } = await findDraft(deps, caller, toolId);
  await checkSchemas(deps, person, fields);
  const added = await deps.records.tools.addVersion({
    id: deps.ids.toolVersion(),
    toolId,
    createdAt: deps.clock.now(),
    createdBy: person.user,
    ...sourceOf(draft),
    ...fields,
  });
  if (added === undefined) throw toolNotFound(toolId);
  return added;
}

/**
 * Renames a tool.
 * @throws PortholeError `tool_not_found`
 */
export async function renameTool(
  deps: FindToolDeps,
  caller: Caller,
  toolId: string,
  name: string,
): Promise<ToolRecord> {
  const { found } = await findTool(deps, caller, toolId);
  if (!(await deps.records.tools.rename(toolId, name))) throw toolNotFound(toolId);
  return { ...found, name };
}

/**
 * Deletes a tool with its versions, its draft and its runs. Its snapshots expire at once, and are
 * removed with their sandboxes like all expired snapshots.
 * @throws PortholeError `tool_not_found`, `draft_locked` if another user holds the lock
 */
export async function deleteTool(
  deps: FindToolDeps & { readonly clock: Clock },
  caller: Caller,
  toolId: string,
  lockToken: string | undefined,
): Promise<void> {
  await findTool(deps, caller, toolId);
  const claim = lockClaim(toolId, lockToken, deps.clock.now());
  const removal = await deps.records.tools.remove(claim);
  if (removal === undefined) throw toolNotFound(toolId);
  if (removal.kind === 'not_locked') throw draftLocked(removal.draft, claim.at);
}

interface DraftWish {
  readonly fields: Partial<ToolSource>;
  /** Start from this version of the tool: fields that `fields` omits come from it. */
  readonly versionId?: string | undefined;
  /** The expected revision of the draft. */
  readonly revision?: number | undefined;
  readonly lockToken?: string | undefined;
}

/**
 * Changes the draft of a tool. Requires its lock.
 * @throws PortholeError `tool_not_found`, `tool_version_not_found`, `invalid_schema`,
 * `draft_locked`, `draft_conflict`
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
      : { ...(await sourceOfVersion(deps, caller, toolId, versionId)), ...fields, versionId };
  const claim = lockClaim(toolId, lockToken, deps.clock.now());
  const saving = await deps.records.drafts.save(claim, change, person.user, revision);
  if (saving === undefined) throw toolNotFound(toolId);
  if (saving.kind === 'not_locked') throw draftLocked(saving.draft, claim.at);
  if (saving.kind === 'stale') {
    throw new PortholeError(
      'draft_conflict',
      `The draft is at revision ${saving.draft.revision}, not ${revision}`,
      {
        remedy: 'read it again, and save against that revision.',
        details: { revision: saving.draft.revision },
      },
    );
  }
  return saving.draft;
}

async function sourceOfVersion(
  deps: DraftLockDeps,
  caller: Caller,
  toolId: string,
  versionId: string,
): Promise<ToolSource> {
  const { found } = await findVersion(deps, caller, versionId);
  if (found.tool.id !== toolId) {
    throw new PortholeError(
      'tool_version_not_found',
      `Tool version ${versionId} is not one of tool ${toolId}`,
      { remedy: `GET /api/v1/editor/tools/${toolId}/versions lists them.` },
    );
  }
  return sourceOf(found.version);
}
