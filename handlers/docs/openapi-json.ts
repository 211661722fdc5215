import { z } from 'zod';
import { defineRoute, json } from '../route.ts';

export const openapiJsonRoute = defineRoute({
  id: 'getOpenApiSchema',
  method: 'GET',
  path: '/v1/openapi.json',
  tag: 'Docs',
  kind: 'documents',
  summary: 'This document',
  access: 'key',
  bridge: true,
  page: true,
  responses: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({ openapi: z.string() }) } },
  handle: async (_request, { openapi }) => json(200, await openapi()),
});
