import { z } from 'zod';
import { defineRoute, json } from '../route.ts';

export const openapiJsonRoute = defineRoute({
  id: 'getOpenApiSchema',
  method: 'GET',
  path: '/v1/openapi.json',
  tag: 'Docs',
  summary: 'This document',
  access: 'key',
  page: true,
  responses: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({ openapi: z.string() }) } },
  handle: (_request, { openapi }) => Promise.resolve(json(200, openapi())),
});
