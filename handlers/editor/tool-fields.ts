import { z } from 'zod';
import type { JsonObject, ToolSource } from '#core/ports/editor.ts';
import { ENTRYPOINT } from '#core/rules/editor/entrypoint.ts';

/** The most JSON that the editor's routes take: twice the longest code that a snapshot may hold, written with escapes. */
export const EDITOR_JSON_BYTES = 4_194_304;

const schemaField = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be a JSON object',
  )
  .meta({ type: 'object' })
  .nullable();

/** What a tool is called. */
export const toolName = z.string().min(1, 'must not be empty').max(200, 'at most 200 characters');

/** What a version, a draft and the payload of a snapshot can say, each field on its own. */
export const toolFields = {
  entrypoint: z
    .string()
    .regex(ENTRYPOINT, 'must be the name of a function, or module:function')
    .describe('Name of the function that is called, or `module:function`'),
  source_code: z.string().describe('One module of code'),
  language: z.enum(['python', 'node']),
  input_schema: schemaField.describe('JSON Schema (draft 2020-12) that `inputs` must fit; null: any JSON'),
  settings_schema: schemaField.describe('JSON Schema (draft 2020-12) of the settings'),
  usage_instructions: z.string().max(100_000, 'at most 100000 characters').describe('For whoever runs it'),
};

/** The same, none of them required. */
export const PartialToolFields = z.strictObject(toolFields).partial();

/** The same as answers have them. */
export const shownToolFields = {
  ...toolFields,
  input_schema: z.record(z.string(), z.unknown()).nullable(),
  settings_schema: z.record(z.string(), z.unknown()).nullable(),
};

/** Only what was said. */
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
