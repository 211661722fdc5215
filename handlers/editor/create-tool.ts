import { z } from 'zod';
import { createTool } from '#core/use-cases/editor/add-version.ts';
import { defineRoute, json } from '../route.ts';
import { EDITOR_JSON_BYTES, toolFields, toolName } from './tool-fields.ts';

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

export const createToolRoute = defineRoute({
  id: 'createTool',
  method: 'POST',
  path: '/api/v1/editor/tools',
  tag: 'Editor',
  summary: 'Make a tool',
  description: 'With its first version, which is its draft as well.',
  access: 'caller',
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
