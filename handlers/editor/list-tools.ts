import { z } from 'zod';
import { ownerOf, requirePerson } from '#core/callers.ts';
import { pageLimit } from '../page-limit.ts';
import { defineRoute, json } from '../route.ts';
import { ToolDto, toToolDto } from './tool-dto.ts';

export const listToolsRoute = defineRoute({
  id: 'listTools',
  method: 'GET',
  path: '/api/v1/editor/tools',
  tag: 'Editor',
  summary: 'List your tools, newest first',
  access: 'caller',
  query: z.object({
    limit: pageLimit,
    after: z.string().max(500).optional().describe('`next` of the page before'),
  }),
  responses: {
    200: {
      description: 'A page of tools; `next` is null on the last one',
      schema: z.object({ tools: z.array(ToolDto), next: z.string().nullable() }).meta({ id: 'ToolList' }),
    },
  },
  async handle({ query, caller }, { records }) {
    const person = requirePerson(caller, 'use the editor');
    const { items, next } = await records.editor.tools(person.admin ? undefined : ownerOf(person), query);
    return json(200, { tools: items.map(toToolDto), next });
  },
});
