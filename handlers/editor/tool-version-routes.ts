import { z } from 'zod';
import type { ToolVersionRecord } from '#core/editor/editor-store.ts';
import { addVersion } from '#core/editor/change-tool.ts';
import { findTool } from '#core/editor/find-tool.ts';
import { pageResponse } from '../http/read-input.ts';
import { defineRoute, json } from '../route.ts';
import {
  ToolPath,
  EDITOR_JSON_BYTES,
  PartialToolFields,
  shownToolFields,
  toFields,
  toSource,
} from './tool-routes.ts';

/** Versions per page: each may be megabytes of code. */
const MAX_VERSIONS = 20;
const LIMIT = `must be a whole number from 1 to ${MAX_VERSIONS}`;

const VersionDto = z
  .object({
    version_id: z.string(),
    tool_id: z.string(),
    number: z.int().describe('1 for the first'),
    created_at: z.iso.datetime(),
    created_by: z.string(),
    ...shownToolFields,
  })
  .meta({ id: 'ToolVersion' });

const VERSIONS = '/api/v1/editor/tools/{tool_id}/versions';

const listToolVersionsRoute = defineRoute('listToolVersions', 'GET', VERSIONS, {
  tag: 'Editor',
  summary: 'List the versions of a tool, newest first',
  params: ToolPath,
  query: z.object({
    limit: z.coerce.number(LIMIT).int(LIMIT).min(1, LIMIT).max(MAX_VERSIONS, LIMIT).default(MAX_VERSIONS),
    after: z.string().max(500).optional().describe('`next` of the previous page'),
  }),
  responses: pageResponse('versions', VersionDto, 'ToolVersionList'),
  errors: ['tool_not_found'],
  async handle({ params, query, caller }, services) {
    const { found } = await findTool(services, caller, params.tool_id);
    const { items, next } = await services.records.tools.versions(found.id, query);
    return json(200, { versions: items.map(toDto), next });
  },
});

const createToolVersionRoute = defineRoute('createToolVersion', 'POST', VERSIONS, {
  tag: 'Editor',
  summary: 'Add a version to a tool',
  description: 'Omitted fields are copied from the draft, which does not change.',
  params: ToolPath,
  body: PartialToolFields.meta({ id: 'CreateToolVersionRequest' }),
  jsonBytes: EDITOR_JSON_BYTES,
  responses: { 201: { description: 'Added', schema: VersionDto } },
  errors: ['tool_not_found', 'invalid_schema'],
  async handle({ params, body, caller }, services) {
    return json(201, toDto(await addVersion(services, caller, params.tool_id, toSource(body))));
  },
});

function toDto(version: ToolVersionRecord): z.infer<typeof VersionDto> {
  return {
    version_id: version.id,
    tool_id: version.toolId,
    number: version.number,
    created_at: version.createdAt.toISOString(),
    created_by: version.createdBy,
    ...toFields(version),
  };
}

export const toolVersionRoutes = [listToolVersionsRoute, createToolVersionRoute];
