import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
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

/**
 * CSP: scripts and styles only from this origin; the viewer sets inline style attributes, so those
 * are allowed.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Porthole API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/v1/openapi/assets/swagger-ui.css">
<style>body{margin:0}html.dark-mode{background:#1c2022;color:#e4e6e6;color-scheme:dark}</style>
</head>
<body>
<div id="viewer"></div>
<noscript>This page needs JavaScript. The document itself is at <a href="/v1/openapi.json">/v1/openapi.json</a>.</noscript>
<script src="/v1/openapi/assets/swagger-ui-bundle.js"></script>
<script src="/v1/openapi/assets/start.js"></script>
</body>
</html>
`;

/**
 * Passes the page's `?token=` to the document, removes it from the address bar, and applies the
 * user's dark mode.
 */
const START = `const token = new URLSearchParams(location.search).get('token');
history.replaceState(null, '', location.pathname);
const dark = matchMedia('(prefers-color-scheme: dark)');
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', paint);
paint();
window.ui = SwaggerUIBundle({
  url: '/v1/openapi.json',
  dom_id: '#viewer',
  deepLinking: true,
  docExpansion: 'list',
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  requestInterceptor: (request) => {
    if (token !== null && request.headers.Authorization === undefined) request.headers.Authorization = 'Bearer ' + token;
    return request;
  },
  onComplete: () => { if (token !== null) window.ui.preauthorizeApiKey('BearerAuth', token); },
});
`;

function openapiPage(path: '/v1/openapi' | '/v1/openapi.html', id: string) {
  return defineRoute({
    id,
    method: 'GET',
    path,
    tag: 'Docs',
    kind: 'documents',
    summary: 'This document as a page that works without the internet',
    access: 'key',
    page: true,
    responses: { 200: { description: 'The page', contentType: 'text/html' } },
    handle: () =>
      Promise.resolve({
        statusCode: 200,
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': POLICY,
          'referrer-policy': 'no-referrer',
          'x-content-type-options': 'nosniff',
        },
        body: PAGE,
      }),
  });
}

export const openapiPageRoute = openapiPage('/v1/openapi', 'getOpenApiPage');
export const openapiHtmlRoute = openapiPage('/v1/openapi.html', 'getOpenApiHtml');

const ASSETS: Record<string, { type: string; load: () => Promise<string | Buffer> }> = {
  'swagger-ui.css': { type: 'text/css; charset=utf-8', load: () => viewerFile('swagger-ui.css') },
  'swagger-ui-bundle.js': {
    type: 'text/javascript; charset=utf-8',
    load: () => viewerFile('swagger-ui-bundle.js'),
  },
  'start.js': { type: 'text/javascript; charset=utf-8', load: () => Promise.resolve(START) },
};

function viewerFile(name: string): Promise<Buffer> {
  return readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`));
}

export const openapiAssetRoute = defineRoute({
  id: 'getOpenApiAsset',
  method: 'GET',
  path: '/v1/openapi/assets/{name}',
  tag: 'Docs',
  kind: 'documents',
  summary: "The page's script and style",
  access: 'anyone',
  params: z.object({ name: z.string().max(100) }),
  responses: { 200: { description: 'The file', contentType: 'text/javascript' } },
  errors: ['not_found'],
  async handle({ params }) {
    const asset = Object.hasOwn(ASSETS, params.name) ? ASSETS[params.name] : undefined;
    if (asset === undefined)
      throw new PortholeError('not_found', `There is no asset ${JSON.stringify(params.name)}.`);
    return {
      statusCode: 200,
      headers: {
        'content-type': asset.type,
        'cache-control': 'public, max-age=86400',
        'x-content-type-options': 'nosniff',
      },
      body: await asset.load(),
    };
  },
});
