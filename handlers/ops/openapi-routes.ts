import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { apiViewer, type ConsoleFile, encoded } from '../console/console-files.ts';
import { API_VIEWER } from '../console/console-folder.ts';
import { defineRoute } from '../route.ts';

const openapiJsonRoute = defineRoute('getOpenApiSchema', 'GET', '/v1/openapi.json', {
  tag: 'Docs',
  summary: 'This document',
  access: 'key',
  bridge: true,
  page: true,
  responses: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({ openapi: z.string() }) } },
  handle: async (_request, { openapi }) => ({
    statusCode: 200,
    headers: { 'content-type': 'application/json' },
    body: await openapi(),
  }),
});

/**
 * CSP: scripts only from this origin, no `eval`, and no other host. The viewer writes its style
 * sheet and style attributes into the page, so inline styles are allowed.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API · Porthole</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/v1/openapi/assets/page.css">
</head>
<body>
<header><a href="/">Porthole</a><span>API</span><a href="openapi.json">openapi.json</a></header>
<div id="viewer"></div>
<noscript>This page needs JavaScript. The document itself is at <a href="openapi.json">openapi.json</a>.</noscript>
<script src="/v1/openapi/assets/${API_VIEWER}"></script>
<script src="/v1/openapi/assets/start.js"></script>
</body>
</html>
`;

/** The console's colours and type for the viewer. */
const STYLE = `:root{color-scheme:light dark;--scalar-custom-header-height:49px}
:root[data-theme=light]{color-scheme:light}
:root[data-theme=dark]{color-scheme:dark}
body{margin:0;background:light-dark(#f6f7f6,#0c1112);color:light-dark(#14201f,#e6eeee)}
header{position:sticky;top:0;z-index:10;display:flex;align-items:center;gap:16px;box-sizing:border-box;height:49px;padding:0 16px;border-bottom:1px solid light-dark(#dfe3e2,#263133);background:light-dark(#fff,#12191a);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
header span{font-weight:600}
header a{color:light-dark(#0a6c74,#5fc9d1);text-decoration:none}
header a:first-child{font-weight:650}
header a:last-child{margin-left:auto}
header a:hover{text-decoration:underline}
section:focus-visible{outline:none}
.light-mode,.dark-mode{--scalar-font:system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;--scalar-font-code:ui-monospace,"SF Mono",Menlo,Consolas,monospace;--scalar-radius:8px;--scalar-color-1:light-dark(#14201f,#e6eeee);--scalar-color-2:light-dark(#56625f,#98a6a6);--scalar-color-3:light-dark(#5f6b68,#8d9b9b);--scalar-color-accent:light-dark(#0a6c74,#5fc9d1);--scalar-background-1:light-dark(#f6f7f6,#0c1112);--scalar-background-2:light-dark(#fff,#12191a);--scalar-background-3:light-dark(#eceff3,#182123);--scalar-background-accent:light-dark(#e0f2f2,#123033);--scalar-border-color:light-dark(#dfe3e2,#263133);--scalar-color-green:light-dark(#117a43,#5fd393);--scalar-color-red:light-dark(#c02637,#ff8591);--scalar-color-orange:light-dark(#8a5a00,#f0b64a);--scalar-color-yellow:light-dark(#8a5a00,#f0b64a);--scalar-color-blue:light-dark(#0a6c74,#5fc9d1);--scalar-button-1:light-dark(#0a6c74,#5fc9d1);--scalar-button-1-color:light-dark(#fff,#06191b);--scalar-button-1-hover:light-dark(#07525a,#8fdfe5);--scalar-sidebar-background-1:var(--scalar-background-2);--scalar-sidebar-color-1:var(--scalar-color-1);--scalar-sidebar-color-2:var(--scalar-color-2);--scalar-sidebar-color-active:var(--scalar-color-accent);--scalar-sidebar-item-active-background:var(--scalar-background-accent);--scalar-sidebar-item-hover-background:var(--scalar-background-3);--scalar-sidebar-border-color:var(--scalar-border-color)}
`;

/**
 * Passes the page's `?token=` to the document and to calls, removes it from the address bar, and
 * follows the theme of the console. Turns off what would call other hosts or is no documentation.
 */
const START = `const token = new URLSearchParams(location.search).get('token');
history.replaceState(null, '', location.pathname + location.hash);
const dark = matchMedia('(prefers-color-scheme: dark)');
const kept = localStorage.getItem('porthole-theme');
const isDark = () => (kept === 'light' || kept === 'dark' ? kept === 'dark' : dark.matches);
const theme = () => {
  const name = isDark() ? 'dark' : 'light';
  document.documentElement.dataset.theme = name;
  return { forceDarkModeState: name, hideDarkModeToggle: true };
};
// Without a token the viewer sends an empty one, which would hide the browser's session.
const call = (input, init) => {
  const request = new Request(input, init);
  if (request.headers.get('authorization')?.trim() === 'Bearer') request.headers.delete('authorization');
  return fetch(request);
};
const start = async () => {
  const response = await fetch('openapi.json', token === null ? {} : { headers: { Authorization: 'Bearer ' + token } });
  if (!response.ok) throw new Error((await response.json()).error);
  // The server of the document is this one, which baseServerURL names.
  const { servers, ...content } = await response.json();
  const configuration = {
    content,
    customFetch: call,
    theme: 'none',
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    showDeveloperTools: 'never',
    hideClientButton: true,
    documentDownloadType: 'none',
    persistAuth: false,
    baseServerURL: location.origin + location.pathname.replace(/\\/v1\\/.*/, ''),
    defaultOpenAllTags: true,
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
    ...(token === null ? {} : { authentication: { preferredSecurityScheme: 'BearerAuth', securitySchemes: { BearerAuth: { token } } } }),
  };
  const viewer = Scalar.createApiReference('#viewer', { ...configuration, ...theme() });
  dark.addEventListener('change', () => viewer.updateConfiguration({ ...configuration, ...theme() }));
};
start().catch((error) => {
  document.getElementById('viewer').textContent = 'The document could not be read: ' + error.message + ' Reload the page.';
});
`;

function openapiPage(path: '/v1/openapi' | '/v1/openapi.html', id: string) {
  return defineRoute(id, 'GET', path, {
    tag: 'Docs',
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

const openapiPageRoute = openapiPage('/v1/openapi', 'getOpenApiPage');
const openapiHtmlRoute = openapiPage('/v1/openapi.html', 'getOpenApiHtml');

const ASSETS: Readonly<Record<string, () => Promise<ConsoleFile | undefined>>> = {
  [API_VIEWER]: apiViewer,
  'page.css': () => textFile('text/css; charset=utf-8', STYLE),
  'start.js': () => textFile('text/javascript; charset=utf-8', START),
};

function textFile(type: string, text: string): Promise<ConsoleFile> {
  return Promise.resolve({ type, plain: Buffer.from(text), brotli: undefined, gzip: undefined });
}

const openapiAssetRoute = defineRoute('getOpenApiAsset', 'GET', '/v1/openapi/assets/{name}', {
  tag: 'Docs',
  summary: "The page's script and style",
  access: 'anyone',
  params: z.object({ name: z.string().max(100).meta({ pattern: '^[A-Za-z0-9._-]+$' }) }),
  responses: { 200: { description: 'The file', contentType: 'text/javascript' } },
  errors: ['not_found'],
  async handle({ params, headers }) {
    const asset = Object.hasOwn(ASSETS, params.name) ? await ASSETS[params.name]?.() : undefined;
    if (asset === undefined) {
      const what = `There is no asset ${JSON.stringify(params.name)}.`;
      const remedy = params.name === API_VIEWER ? ' Run `npm run build`, which builds the console, too.' : '';
      throw new PortholeError('not_found', what + remedy);
    }
    return encoded(asset, headers['accept-encoding'], {
      'cache-control': 'public, max-age=86400',
      vary: 'accept-encoding',
      'x-content-type-options': 'nosniff',
    });
  },
});

export const openapiPageRoutes = [openapiPageRoute, openapiHtmlRoute];
export const openapiRoutes = [openapiJsonRoute, ...openapiPageRoutes, openapiAssetRoute];
