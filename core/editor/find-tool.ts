import { type Caller, mayManage, type Person, requirePerson } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { DraftRecord, ToolRecord, ToolRunRecord, ToolVersionRecord } from './editor-store.ts';
import type { Records } from '../records.ts';

export interface FindToolDeps {
  readonly records: Pick<Records, 'tools' | 'drafts' | 'toolRuns'>;
}

/** An object of the editor, and the person who may use it: its owner, or an admin. */
export interface Found<T> {
  readonly person: Person;
  readonly found: T;
}

/**
 * @throws PortholeError `forbidden` for agents, `tool_not_found`, also for another owner's tool, to
 * not reveal that it exists
 */
export async function findTool(
  { records }: FindToolDeps,
  caller: Caller,
  id: string,
): Promise<Found<ToolRecord>> {
  const person = requirePerson(caller, 'use the editor');
  const found = await records.tools.get(id);
  if (found === undefined || !mayManage(person, found)) throw toolNotFound(id);
  return { person, found };
}

/** @throws PortholeError as `findTool` */
export async function findDraft(deps: FindToolDeps, caller: Caller, id: string): Promise<Found<DraftRecord>> {
  const { person } = await findTool(deps, caller, id);
  const found = await deps.records.drafts.get(id);
  if (found === undefined) throw toolNotFound(id);
  return { person, found };
}

/** @throws PortholeError `forbidden`, `tool_version_not_found`, also for another owner's version */
export async function findVersion(
  { records }: FindToolDeps,
  caller: Caller,
  id: string,
): Promise<Found<{ readonly tool: ToolRecord; readonly version: ToolVersionRecord }>> {
  const person = requirePerson(caller, 'use the editor');
  const version = await records.tools.version(id);
  const tool = version && (await records.tools.get(version.toolId));
  if (version === undefined || tool === undefined || !mayManage(person, tool)) {
    throw new PortholeError('tool_version_not_found', `Tool version ${id} does not exist`, {
      remedy: 'GET /api/v1/editor/tools/{tool_id}/versions lists those of a tool.',
    });
  }
  return { person, found: { tool, version } };
}

/** @throws PortholeError `forbidden`, `tool_run_not_found`, also for another owner's run */
export async function findToolRun(
  { records }: FindToolDeps,
  caller: Caller,
  id: string,
): Promise<Found<ToolRunRecord>> {
  const person = requirePerson(caller, 'use the editor');
  const found = await records.toolRuns.get(id);
  if (found === undefined || !mayManage(person, found)) {
    throw new PortholeError('tool_run_not_found', `Tool run ${id} does not exist`, {
      remedy: 'GET /api/v1/editor/tool-runs?tool_id= lists those of a tool.',
    });
  }
  return { person, found };
}

export function toolNotFound(id: string): PortholeError {
  return new PortholeError('tool_not_found', `Tool ${id} does not exist`, {
    remedy: 'POST /api/v1/editor/tools creates one.',
  });
}
