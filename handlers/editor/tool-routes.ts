import { z } from 'zod';
import { listedOwner } from '#core/callers.ts';
import { createTool, deleteTool, renameTool } from '#core/editor/change-tool.ts';
import { ENTRYPOINT } from '#core/editor/editor-limits.ts';
import type { JsonObject, ToolRecord, ToolSource } from '#core/editor/editor-store.ts';
import { findTool } from '#core/editor/find-tool.ts';
import { pageQuery, pageResponse } from '../http/read-input.ts';
import { ID_PATTERN, defineRoute, json } from '../route.ts';

const id = (what: string) => z.string().max(200).describe(what).meta({ pattern: ID_PATTERN });

/** Path parameters of the routes below a tool. */
export const ToolPath = z.object({ tool_id: id('Tool id, `tool_` + ULID') });

export const ToolVersionPath = z.object({ version_id: id('Version id, `ver_` + ULID') });

export const ToolRunPath = z.object({ run_id: id('Run id, `trun_` + ULID') });

/** The header that carries the token of a draft's lock. */
const LOCK_HEADER = 'draft-lock-token';

/** Longer than any token of ours; longer values are invalid. */
const MAX_TOKEN_CHARS = 100;

export function lockToken(headers: Readonly<Record<string, string | undefined>>): string | undefined {
  const token = headers[LOCK_HEADER];
  return token === undefined || token.length > MAX_TOKEN_CHARS ? undefined : token;
}

const ToolDto = z
  .object({ tool_id: z.string(), owner: z.string(), name: z.string(), created_at: z.iso.datetime() })
  .meta({ id: 'Tool' });

function toToolDto({ id, owner, name, createdAt }: ToolRecord): z.infer<typeof ToolDto> {
  return { tool_id: id, owner: owner.user, name, created_at: createdAt.toISOString() };
}

/** Maximum JSON body of the editor's routes: twice the longest code of a snapshot, for escapes. */
export const EDITOR_JSON_BYTES = 4_194_304;

const schemaField = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be a JSON object',
  )
  .meta({ type: 'object' })
  .nullable();

const toolName = z.string().min(1, 'must not be empty').max(200, 'at most 200 characters');

/** Fields of a version, a draft and a snapshot's payload, each validated separately. */
export const toolFields = {
  entrypoint: z
    .string()
    .regex(ENTRYPOINT, 'must be the name of a function, or module:function')
    .describe('Name of the function that is called, or `module:function`'),
  source_code: z.string().describe('One module of code'),
  language: z.enum(['python', 'node']),
  input_schema: schemaField.describe('JSON Schema (draft 2020-12) that `inputs` must match; null: any JSON'),
  settings_schema: schemaField.describe('JSON Schema (draft 2020-12) of the settings'),
  usage_instructions: z
    .string()
    .max(100_000, 'at most 100000 characters')
    .describe('Shown to users who run it'),
};

/** `toolFields`, all optional. */
export const PartialToolFields = z.strictObject(toolFields).partial();

/** `toolFields` in responses. */
export const shownToolFields = {
  ...toolFields,
  input_schema: z.record(z.string(), z.unknown()).nullable(),
  settings_schema: z.record(z.string(), z.unknown()).nullable(),
};

/** Omits missing fields. */
export function toSource(fields: z.infer<typeof PartialToolFields>): Partial<ToolSource> {
  return {
    ...(fields.entrypoint === undefined ? {} : { entrypoint: fields.entrypoint }),
    ...(fields.source_code === undefined ? {} : { sourceCode: fields.source_code }),
    ...(fields.language === undefined ? {} : { language: fields.language }),
    ...(fields.input_schema === undefined ? {} : { inputSchema: fields.input_schema }),
    ...(fields.settings_schema === undefined ? {} : { settingsSchema: fields.settings_schema }),
    ...(fields.usage_instructions === undefined ? {} : { usageInstructions: fields.usage_instructions }),
  };
}

export function toFields(source: ToolSource) {
  return {
    entrypoint: source.entrypoint,
    source_code: source.sourceCode,
    language: source.language,
    input_schema: source.inputSchema && { ...source.inputSchema },
    settings_schema: source.settingsSchema && { ...source.settingsSchema },
    usage_instructions: source.usageInstructions,
  };
}

const path = '/api/v1/editor/tools/{tool_id}';

const renameToolRoute = defineRoute('renameTool', 'PUT', path, {
  tag: 'Editor',
  summary: 'Rename a tool',
  params: ToolPath,
  body: z.strictObject({ name: toolName }).meta({ id: 'RenameToolRequest' }),
  responses: { 200: { description: 'The updated tool', schema: ToolDto } },
  errors: ['tool_not_found'],
  async handle({ params, body, caller }, services) {
    return json(200, toToolDto(await renameTool(services, caller, params.tool_id, body.name)));
  },
});

const deleteToolRoute = defineRoute('deleteTool', 'DELETE', path, {
  tag: 'Editor',
  summary: 'Delete a tool',
  description:
    'With its versions, its draft and its runs; the next clean-up deletes the files of its runs. While the draft is locked, the lock token is required.',
  draftLock: true,
  params: ToolPath,
  responses: { 204: { description: 'Deleted' } },
  errors: ['tool_not_found', 'draft_locked'],
  async handle({ params, caller, headers }, services) {
    await deleteTool(services, caller, params.tool_id, lockToken(headers));
    return { statusCode: 204, headers: {} };
  },
});

const Body = z
  .strictObject({
    name: toolName,
    entrypoint: toolFields.entrypoint.default('run'),
    source_code: toolFields.source_code,
    language: toolFields.language,
    input_schema: toolFields.input_schema.default(null),
    settings_schema: toolFields.settings_schema.default(null),
    usage_instructions: toolFields.usage_instructions.default(''),
  })
  .meta({ id: 'CreateToolRequest' });

const createToolRoute = defineRoute('createTool', 'POST', '/api/v1/editor/tools', {
  tag: 'Editor',
  summary: 'Make a tool',
  description: 'With its first version, which is also its draft.',
  body: Body,
  jsonBytes: EDITOR_JSON_BYTES,
  responses: {
    201: {
      description: 'Made',
      schema: z.object({ tool_id: z.string(), version_id: z.string() }).meta({ id: 'CreatedTool' }),
    },
  },
  errors: ['invalid_schema'],
  async handle({ body, caller }, services) {
    const { tool, versionId } = await createTool(services, caller, body.name, {
      entrypoint: body.entrypoint,
      sourceCode: body.source_code,
      language: body.language,
      inputSchema: body.input_schema,
      settingsSchema: body.settings_schema,
      usageInstructions: body.usage_instructions,
    });
    return json(201, { tool_id: tool.id, version_id: versionId });
  },
});

const getToolRoute = defineRoute('getTool', 'GET', '/api/v1/editor/tools/{tool_id}', {
  tag: 'Editor',
  summary: 'Read a tool',
  params: ToolPath,
  responses: { 200: { description: 'The tool; its code is in its draft and its versions', schema: ToolDto } },
  errors: ['tool_not_found'],
  async handle({ params, caller }, services) {
    const { found } = await findTool(services, caller, params.tool_id);
    return json(200, toToolDto(found));
  },
});

const listToolsRoute = defineRoute('listTools', 'GET', '/api/v1/editor/tools', {
  tag: 'Editor',
  summary: 'List your tools, newest first',
  query: z.object(pageQuery),
  responses: pageResponse('tools', ToolDto, 'ToolList'),
  async handle({ query, person }, { records }) {
    const { items, next } = await records.tools.list(listedOwner(person), query);
    return json(200, { tools: items.map(toToolDto), next });
  },
});

export const toolRoutes = [createToolRoute, listToolsRoute, getToolRoute, renameToolRoute, deleteToolRoute];
