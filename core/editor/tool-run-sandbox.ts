import type { Caller } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { JsonValue, SnapshotRecord, ToolRunRecord, ToolSource } from './editor-store.ts';
import { draftLocked, holdsLock, sourceOf } from './editor-limits.ts';
import { isTooDeep, MAX_DEPTH, formatFault, jsonFault } from './tool-json.ts';
import { checkSchemas, type CheckSchemasDeps } from './tool-schemas.ts';
import { lockClaim } from './draft-lock.ts';
import { findDraft, findVersion } from './find-tool.ts';
import { deadlineOf, type InputFile, performRun, type PerformRunDeps } from './perform-run.ts';

export type RunSandboxDeps = PerformRunDeps & CheckSchemasDeps;

export interface RunRequest {
  /** Unsaved fields, which override the saved ones. */
  readonly fields: Partial<ToolSource>;
  /** Size of the payload as canonical JSON; 0 without a payload. */
  readonly payloadBytes: number;
  readonly inputs: JsonValue;
  readonly files: readonly InputFile[];
}

/**
 * Checks that the caller may run the version, before the request body is read.
 * @throws PortholeError `forbidden`, `tool_version_not_found`, `draft_locked`
 */
export async function mayRunSandbox(
  deps: RunSandboxDeps,
  caller: Caller,
  versionId: string,
  lockToken: string | undefined,
): Promise<void> {
  const { found } = await findVersion(deps, caller, versionId);
  const { found: draft } = await findDraft(deps, caller, found.tool.id);
  const claim = lockClaim(found.tool.id, lockToken, deps.clock.now());
  if (!holdsLock(draft, claim)) throw draftLocked(draft, claim.at);
}

/**
 * Runs the content of an editor, saved or not: the saved draft, if it is based on the version, else
 * the version itself, overridden by `fields`. Stores a snapshot of what ran, for the actions that
 * follow.
 * @throws PortholeError `tool_version_not_found`, `draft_locked`, `invalid_schema`,
 * `invalid_inputs`, `too_many_tool_runs`, `quota_exceeded`
 */
export async function runSandbox(
  deps: RunSandboxDeps,
  caller: Caller,
  versionId: string,
  lockToken: string | undefined,
  { fields, payloadBytes, inputs, files }: RunRequest,
): Promise<ToolRunRecord> {
  const { person, found } = await findVersion(deps, caller, versionId);
  const { tool, version } = found;
  const { found: draft } = await findDraft(deps, caller, tool.id);
  const saved = draft.versionId === version.id ? draft : version;
  const source: ToolSource = { ...sourceOf(saved), ...fields };
  checkInputs(inputs);
  await checkSchemas(deps, person, source, inputs);
  const createdAt = deps.clock.now();
  const common = {
    toolId: tool.id,
    versionId: version.id,
    owner: tool.owner,
    createdAt,
    createdBy: person.user,
  };
  const snapshot: SnapshotRecord = {
    ...common,
    ...source,
    id: deps.ids.snapshot(),
    payloadBytes,
    state: null,
    sandboxId: null,
    expiresAt: new Date(createdAt.getTime() + deps.editor.snapshotTtlMs),
  };
  const run = {
    ...common,
    id: deps.ids.toolRun(),
    snapshotId: snapshot.id,
    snapshotExpiresAt: snapshot.expiresAt,
    actionId: null,
    parentRunId: null,
    inputs,
    deadline: deadlineOf(createdAt, deps.editor),
  };
  const claim = lockClaim(tool.id, lockToken, createdAt);
  return performRun(deps, claim, run, snapshot, { isNew: true, files });
}

/** @throws PortholeError `invalid_inputs` */
export function checkInputs(inputs: JsonValue): void {
  if (isTooDeep(inputs)) {
    throw new PortholeError('invalid_inputs', `The inputs nest deeper than ${MAX_DEPTH} levels`, {
      remedy: 'make them flatter.',
    });
  }
  const fault = jsonFault(inputs);
  if (fault !== undefined)
    throw new PortholeError('invalid_inputs', `The inputs contain ${formatFault(fault)}.`);
}
