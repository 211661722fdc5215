import type { Caller } from '../../callers.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ToolRecord } from '../../ports/editor.ts';
import { draftLocked } from '../../rules/editor/draft-lock.ts';
import { lockClaim } from './draft-lock.ts';
import { findTool, type FindToolDeps, toolNotFound } from './find-tool.ts';

/**
 * Gives a tool another name.
 * @throws PortholeError `tool_not_found`
 */
export async function renameTool(
  deps: FindToolDeps,
  caller: Caller,
  toolId: string,
  name: string,
): Promise<ToolRecord> {
  const { found } = await findTool(deps, caller, toolId);
  if (!(await deps.records.editor.renameTool(toolId, name))) throw toolNotFound(toolId);
  return { ...found, name };
}

/**
 * Removes a tool with its versions, its draft and its runs. Its snapshots are over from then on, and go with their sandboxes as all do that are over.
 * @throws PortholeError `tool_not_found`, `draft_locked` where somebody edits it whose token this is not
 */
export async function deleteTool(
  deps: FindToolDeps & { readonly clock: Clock },
  caller: Caller,
  toolId: string,
  lockToken: string | undefined,
): Promise<void> {
  await findTool(deps, caller, toolId);
  const claim = lockClaim(toolId, lockToken, deps.clock.now());
  const removal = await deps.records.editor.removeTool(claim);
  if (removal === undefined) throw toolNotFound(toolId);
  if (removal.kind === 'not_locked') throw draftLocked(removal.draft, claim.at);
}
