import { type Caller, ownerOf, requirePerson } from '../../callers.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ToolRecord, ToolSource, ToolVersionRecord } from '../../ports/editor.ts';
import type { Ids } from '../../ports/ids.ts';
import { checkSchemas, type CheckSchemasDeps } from './check-schemas.ts';
import { findDraft, type FindToolDeps, toolNotFound } from './find-tool.ts';

export interface AddVersionDeps extends FindToolDeps, CheckSchemasDeps {
  readonly clock: Clock;
  readonly ids: Ids;
}

/**
 * A tool with its first version, which is its draft as well.
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
  await deps.records.editor.createTool(tool, version);
  return { tool, versionId };
}

/**
 * One more version of a tool; what `fields` does not say comes from the draft, which stays as it is.
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
  const { entrypoint, sourceCode, language, inputSchema, settingsSchema, usageInstructions } = draft;
  const added = await deps.records.editor.addVersion({
    id: deps.ids.toolVersion(),
    toolId,
    createdAt: deps.clock.now(),
    createdBy: person.user,
    entrypoint,
    sourceCode,
    language,
    inputSchema,
    settingsSchema,
    usageInstructions,
    ...fields,
  });
  if (added === undefined) throw toolNotFound(toolId);
  return added;
}
