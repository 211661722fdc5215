import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import type { HttpEvent, HttpResponse } from '../http/http-event.ts';
import { prefers } from '../http/response-headers.ts';
import { ID_PATTERN, defineRoute, type Route } from '../route.ts';
import type { Services } from '../services.ts';
import { consoleBuild, consoleFiles, consoleHeaders, encoded } from './console-files.ts';
import { MISSING_CONSOLE_POLICY, missingConsolePage } from './missing-console-page.ts';

/** All pages are the same file: its script reads the address. */
function consolePage(path: string, id: string, summary: string) {
  return defineRoute(id, 'GET', path, {
    tag: 'Console',
    summary,
    access: 'anyone',
    page: true,
    ...(path.includes('{id}')
      ? { params: z.object({ id: z.string().max(200).meta({ pattern: ID_PATTERN }) }) }
      : {}),
    responses: {
      200: { description: 'The page', contentType: 'text/html' },
      304: { description: 'Not modified' },
    },
    handle: ({ headers }, services) => answerConsolePage(headers, services),
  });
}

/** The services that the console's pages need. */
type PageServices = Parameters<typeof consoleHeaders>[0] & Pick<Services, 'authenticator'>;

async function answerConsolePage(
  headers: HttpEvent['headers'],
  services: PageServices,
): Promise<HttpResponse> {
  const common = consoleHeaders(services);
  const files = await consoleFiles();
  const page = files?.byPath.get('index.html');
  if (files === undefined || page === undefined) {
    return {
      statusCode: 200,
      headers: {
        ...common,
        'content-security-policy': MISSING_CONSOLE_POLICY,
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
      },
      body: missingConsolePage(consoleBuild(), services.authenticator.withoutCredential !== undefined),
    };
  }
  const tag = `"${files.digest}"`;
  const all = { ...common, 'cache-control': 'no-cache', etag: tag, vary: 'accept-encoding' };
  if (headers['if-none-match'] === tag) return { statusCode: 304, headers: all };
  return encoded(page, headers['accept-encoding'], all);
}

/** Paths for programs, which get JSON. */
const API_PATH = /^\/(?:api|v1|mcp|assets)(?:\/|$)/;

/** The console's 404 page for a browser at an unknown address; undefined for everything else. */
export async function missingPage(
  { headers, rawPath, requestContext }: HttpEvent,
  services: PageServices,
): Promise<HttpResponse | undefined> {
  const isBrowser = prefers(headers['accept'], 'text/html', 'application/json');
  if (requestContext.http.method !== 'GET' || !isBrowser || API_PATH.test(rawPath)) return undefined;
  const answer = await answerConsolePage({ 'accept-encoding': headers['accept-encoding'] }, services);
  delete answer.headers['etag'];
  return { ...answer, statusCode: 404, headers: { ...answer.headers, 'cache-control': 'no-store' } };
}

/** The routes of the pages in `console/src/pages/console-pages.tsx`. */
export const consolePageRoutes: readonly Route[] = [
  consolePage('/', 'getHome', 'The console: runs and pending approvals'),
  consolePage('/runs/{id}', 'getRunPage', 'A run in the console'),
  consolePage('/sandboxes', 'getSandboxesPage', 'Sandboxes in the console'),
  consolePage('/sandboxes/{id}', 'getSandboxPage', 'A sandbox in the console: terminal and files'),
  consolePage('/docs', 'getDocsPage', 'The documentation in the console'),
  consolePage('/docs/{id}', 'getDocumentPage', 'A page of the documentation in the console'),
  consolePage('/settings', 'getSettingsPage', 'Settings in the console'),
  consolePage('/settings/{id}', 'getSettingsSectionPage', 'A part of the settings: keys, usage or about'),
];

export const editorPageRoutes: readonly Route[] = [
  consolePage('/tools', 'getToolsPage', "The editor's tools in the console"),
  consolePage('/tools/{id}', 'getToolPage', 'A tool in the console'),
];

export const consoleAssetRoute = defineRoute('getConsoleAsset', 'GET', '/assets/{name}', {
  tag: 'Console',
  summary: "The console's scripts and style",
  access: 'anyone',
  params: z.object({ name: z.string().max(200).meta({ pattern: '^[A-Za-z0-9._-]+$' }) }),
  responses: { 200: { description: 'The file', contentType: 'text/javascript' } },
  errors: ['not_found'],
  async handle({ params, headers }) {
    const file = (await consoleFiles())?.byPath.get(`assets/${params.name}`);
    if (file === undefined) {
      throw new PortholeError('not_found', `The console has no file ${JSON.stringify(params.name)}`, {
        remedy: 'reload the page.',
      });
    }
    return encoded(file, headers['accept-encoding'], {
      // The file name contains a digest of the content.
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
      'x-content-type-options': 'nosniff',
      // An asset that is opened as a page can load nothing.
      'content-security-policy': "default-src 'none'",
    });
  },
});
