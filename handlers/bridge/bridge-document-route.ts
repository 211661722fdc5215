import { z } from 'zod';
import { defineRoute, type Route } from '../route.ts';
import { bridgeProcessRoutes } from './bridge-process-routes.ts';
import { bridgeTerminalRoutes } from './bridge-terminal-routes.ts';
import { BRIDGE_BASE, BRIDGE_TAG } from './bridge-options.ts';
import { mirroredRoutes } from './mirrored-routes.ts';

export const bridgeDocumentRoute: Route = defineRoute(
  'bridgeGetOpenApiSchema',
  'GET',
  `${BRIDGE_BASE}/v1/openapi.json`,
  {
    tag: BRIDGE_TAG,
    summary: 'The OpenAPI document of the bridge 1.0',
    access: 'key',
    bridge: true,
    page: true,
    responses: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({ openapi: z.string() }) } },
    async handle(_request, { authenticator }) {
      const { openapiDocument } = await import('../ops/openapi-document.ts');
      const routes = [
        ...mirroredRoutes,
        ...bridgeProcessRoutes,
        ...bridgeTerminalRoutes,
        bridgeDocumentRoute,
      ];
      const document = openapiDocument(
        routes.map((route) => ({ ...route, path: route.path.slice(BRIDGE_BASE.length) })),
        { secured: authenticator.withoutCredential === undefined },
      );
      const servers = [{ url: BRIDGE_BASE, description: 'The bridge 1.0 of the host that serves this' }];
      return {
        statusCode: 200,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...document, servers }),
      };
    },
  },
);
