import { z } from 'zod';
import { deleteTool, renameTool } from '#core/use-cases/editor/change-tool.ts';
import { defineRoute, json } from '../route.ts';
import { lockToken, ToolPath } from './editor-path.ts';
import { ToolDto, toToolDto } from './tool-dto.ts';
import { toolName } from './tool-fields.ts';

const path = '/api/v1/editor/tools/{tool_id}';

export const renameToolRoute = defineRoute({
  id: 'renameTool',
  method: 'PUT',
  path,
  tag: 'Editor',
  summary: 'Give a tool another name',
  access: 'caller',
  params: ToolPath,
  body: z.strictObject({ name: toolName }).meta({ id: 'RenameToolRequest' }),
  responses: { 200: { description: 'The tool as it is now', schema: ToolDto } },
  errors: ['tool_not_found'],
  async handle({ params, body, caller }, services) {
    return json(200, toToolDto(await renameTool(services, caller, params.tool_id, body.name)));
  },
});

export const deleteToolRoute = defineRoute({
  id: 'deleteTool',
  method: 'DELETE',
  path,
  tag: 'Editor',
  summary: 'Delete a tool',
  description:
    'With its versions, its draft and its runs; the files of its runs go with the next clean-up. While somebody holds the lock of its draft, only with the token of that.',
  access: 'caller',
  draftLock: true,
  params: ToolPath,
  responses: { 204: { description: 'Deleted' } },
  errors: ['tool_not_found', 'draft_locked'],
  async handle({ params, caller, headers }, services) {
    await deleteTool(services, caller, params.tool_id, lockToken(headers));
    return { statusCode: 204, headers: {} };
  },
});
