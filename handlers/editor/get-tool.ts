import { findTool } from '#core/use-cases/editor/find-tool.ts';
import { defineRoute, json } from '../route.ts';
import { ToolPath } from './editor-path.ts';
import { ToolDto, toToolDto } from './tool-dto.ts';

export const getToolRoute = defineRoute({
  id: 'getTool',
  method: 'GET',
  path: '/api/v1/editor/tools/{tool_id}',
  tag: 'Editor',
  summary: 'Read a tool',
  access: 'caller',
  params: ToolPath,
  responses: { 200: { description: 'The tool; its code is in its draft and its versions', schema: ToolDto } },
  errors: ['tool_not_found'],
  async handle({ params, caller }, services) {
    const { found } = await findTool(services, caller, params.tool_id);
    return json(200, toToolDto(found));
  },
});
