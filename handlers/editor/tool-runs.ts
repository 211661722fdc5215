import { z } from 'zod';
import { findTool, findToolRun } from '#core/use-cases/editor/find-tool.ts';
import { pageLimit } from '../page-limit.ts';
import { defineRoute, json } from '../route.ts';
import { ToolRunPath } from './editor-path.ts';
import { ToolRunDto, ToolRunSummaryDto, toRunDto, toSummaryDto } from './tool-run-dto.ts';

export const getToolRunRoute = defineRoute({
  id: 'getToolRun',
  method: 'GET',
  path: '/api/v1/editor/tool-runs/{run_id}',
  tag: 'Editor',
  summary: 'Read a run of a tool',
  access: 'caller',
  params: ToolRunPath,
  responses: { 200: { description: 'The run', schema: ToolRunDto } },
  errors: ['tool_run_not_found'],
  async handle({ params, caller }, services) {
    const { found } = await findToolRun(services, caller, params.run_id);
    return json(200, toRunDto(found, services.clock.now()));
  },
});

export const listToolRunsRoute = defineRoute({
  id: 'listToolRuns',
  method: 'GET',
  path: '/api/v1/editor/tool-runs',
  tag: 'Editor',
  summary: 'List the runs of a tool, newest first',
  access: 'caller',
  query: z.object({
    tool_id: z.string().max(200),
    limit: pageLimit,
    after: z.string().max(500).optional().describe('`next` of the page before'),
  }),
  responses: {
    200: {
      description: 'A page of runs, without what they gave and said; `next` is null on the last one',
      schema: z
        .object({ runs: z.array(ToolRunSummaryDto), next: z.string().nullable() })
        .meta({ id: 'ToolRunList' }),
    },
  },
  errors: ['tool_not_found'],
  async handle({ query, caller }, services) {
    const { found } = await findTool(services, caller, query.tool_id);
    const { items, next } = await services.records.editor.runs(found.id, query);
    const now = services.clock.now();
    return json(200, { runs: items.map((run) => toSummaryDto(run, now)), next });
  },
});
