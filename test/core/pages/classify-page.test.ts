import { describe, expect, test } from '@jest/globals';
import type { PageFacts, PageObservation } from '#core/pages/page-browser.ts';
import { classifyPage } from '#core/pages/classify-page.ts';
import { formatPreviewToken } from '#core/previews/preview-token.ts';
import { pageLooked, pageReport, summaryOf } from '#core/pages/page-report.ts';

const FACTS: PageFacts = {
  title: 'Orders',
  text: 'Three orders are open.',
  textLength: 22,
  media: 0,
  controls: 1,
  clippedText: 0,
  clippedBy: null,
  coveredBy: null,
  emptyMount: null,
  loading: false,
  elements: 12,
  truncated: false,
};

/** A healthy page, with other observations of a browser. */
function seen(other: Partial<PageObservation> = {}, facts: Partial<PageFacts> = {}): PageObservation {
  return {
    status: 200,
    navigationError: null,
    gateway: null,
    redirects: [],
    url: '/',
    contentType: 'text/html',
    console: [],
    errors: [],
    failed: [],
    overlays: [],
    sockets: [],
    pending: [],
    facts: { ...FACTS, ...facts },
    sight: null,
    outline: '- paragraph: Three orders are open.',
    accessibility: null,
    timings: { ttfbMs: 5, fcpMs: 40, lcpMs: 60, loadMs: 50 },
    interruption: null,
    blocked: {},
    failedStep: null,
    picture: null,
    thumbnail: null,
    difference: null,
    element: null,
    ...other,
  };
}

const AT = { file: 'src/main.tsx', line: 3, column: 16 };
const request = (other: Partial<PageObservation['failed'][number]>) => ({
  method: 'GET',
  url: '/api/items',
  type: 'fetch',
  status: null,
  reason: 'network' as const,
  detail: 'net::ERR_FAILED',
  initiator: AT,
  outcome: 'missing' as const,
  ...other,
});
const BLANK = { text: '', textLength: 0, controls: 0 };

describe('page classification', () => {
  test.each<[string, PageObservation, string, string]>([
    ['a healthy page', seen(), 'works', 'works'],
    [
      'an overlay before the script that failed with it',
      seen({
        overlays: [
          {
            framework: 'Vite',
            message: '[plugin:vite:import-analysis] Failed to resolve import "./App"',
            place: AT,
          },
        ],
        failed: [request({ url: '/src/main.tsx', type: 'script', status: 500, reason: 'status' })],
      }),
      'broken',
      'broken: Vite shows an error: Failed to resolve import "./App" (src/main.tsx:3:16)',
    ],
    [
      'the request before the error that it causes',
      seen({
        errors: [
          {
            message: 'TypeError: Failed to fetch (unhandled rejection)',
            frames: [{ ...AT, function: 'load' }],
          },
        ],
        failed: [request({ status: 502, reason: 'status' })],
      }),
      'broken',
      'broken: GET /api/items answered 502 (src/main.tsx:3:16)',
    ],
    [
      'the script that is missing before the name that it defines',
      seen({
        errors: [{ message: 'ReferenceError: io is not defined', frames: [{ ...AT, function: 'start' }] }],
        failed: [request({ url: '/io.js', type: 'script', status: 404, reason: 'status' })],
      }),
      'broken',
      'broken: The script /io.js answered 404 (src/main.tsx:3:16)',
    ],
    [
      "a frame of the app's own before those of packages",
      seen({
        errors: [
          {
            message: 'TypeError: x is not a function',
            frames: [
              { file: 'node_modules/.vite/deps/react.js', line: 9, column: 1, function: 'a' },
              { ...AT, function: 'App' },
            ],
          },
        ],
      }),
      'broken',
      'broken: Uncaught TypeError: x is not a function (src/main.tsx:3:16)',
    ],
    [
      'an answer that the app may handle',
      seen({ failed: [request({ status: 404, reason: 'status', detail: 'HTTP 404' })] }),
      'unclear',
      'unclear: GET /api/items answered 404 (src/main.tsx:3:16)',
    ],
    [
      'an answer of 401 to a check of the session',
      seen({ failed: [request({ status: 401, reason: 'status' })] }),
      'works',
      'works',
    ],
    [
      'a missing favicon',
      seen({ failed: [request({ url: '/favicon.ico', type: 'other', status: 404, reason: 'status' })] }),
      'works',
      'works',
    ],
    [
      'a script of another origin, on a page that is blank without it',
      seen(
        { failed: [request({ url: 'https://cdn.test/react.js', type: 'script', reason: 'other_origin' })] },
        BLANK,
      ),
      'unclear',
      'unclear: A look loads no other origin: https://cdn.test/react.js was left out (src/main.tsx:3:16)',
    ],
    [
      'a font of another origin, on a page that shows',
      seen({
        failed: [request({ url: 'https://fonts.test/a.woff2', type: 'font', reason: 'other_origin' })],
      }),
      'works',
      'works',
    ],
    [
      'mixed content',
      seen({ failed: [request({ url: 'http://api.test/items', reason: 'mixed_content' })] }),
      'broken',
      'broken: The browser blocks http://api.test/items: an http address on an https page (src/main.tsx:3:16)',
    ],
    [
      'a hot-reload socket that is refused',
      seen({ sockets: [{ url: '/', state: 'refused', hotReload: true, isReplaced: false }] }),
      'unclear',
      'unclear: The hot-reload WebSocket / was refused.',
    ],
    [
      'the error page of a server, with a traceback',
      seen(
        { status: 500, url: '/orders' },
        {
          text: 'Internal Error File "/usr/lib/python3/flask.py", line 2 File "/workspace/app.py", line 14, in orders',
        },
      ),
      'broken',
      'broken: The page /orders answers 500: Internal Error File "/usr/lib/python3/flask.py", line 2 File "/workspace/app.py", line 14, in orders (app.py:14)',
    ],
    [
      'a page that is blank',
      seen({}, { ...BLANK, emptyMount: 'div#root' }),
      'broken',
      'broken: The page is blank: div#root is empty.',
    ],
    [
      'words of the page that sound like faults',
      seen({
        console: [
          'Hydration goal did not match: hydration failed',
          'Refused to execute: violates the Content Security Policy',
        ].map((text) => ({ level: 'error' as const, text, place: null, byPage: true })),
      }),
      'works',
      'works',
    ],
    [
      'the sentence of a framework on the console',
      seen({
        console: [
          {
            level: 'warning',
            text: '[Vue warn]: Hydration text content mismatch on <b>',
            place: null,
            byPage: true,
          },
        ],
      }),
      'broken',
      'broken: [Vue warn]: Hydration text content mismatch on <b>',
    ],
    [
      'an image that a fallback replaces',
      seen({ failed: [request({ type: 'image', status: 404, reason: 'status', outcome: 'harmless' })] }),
      'works',
      'works',
    ],
    [
      'a request that a later try repeats with success',
      seen({ failed: [request({ status: 503, reason: 'status', outcome: 'recovered' })] }),
      'works',
      'works',
    ],
    [
      'a page that did not answer in time',
      seen({ interruption: 'no_answer', facts: null }),
      'unclear',
      'unclear: The page did not answer in time.',
    ],
    [
      'an error that the overlay of webpack hides behind another',
      seen({
        console: [
          {
            level: 'error',
            text: "[webpack-dev-server] ./src/heading.js 1:0-22\nModule not found: Can't resolve './nowhere.js'",
            place: null,
            byPage: true,
          },
        ],
        errors: [{ message: "Error: Cannot find module './nowhere.js'", frames: [] }],
      }),
      'broken',
      "broken: webpack shows an error: Module not found: Can't resolve './nowhere.js' (src/heading.js:1:1)",
    ],
    [
      'a server that may be compiling',
      { ...seen({ status: null, navigationError: 'timeout' }), facts: null },
      'unclear',
      'unclear: The server did not answer within 12 s.',
    ],
    [
      'the page that a dev server sends for data',
      seen({
        errors: [
          { message: 'SyntaxError: Unexpected token \'<\', "<!doctype" is not valid JSON', frames: [] },
        ],
        failed: [request({ status: 200, reason: 'status', detail: 'text/html instead of data' })],
      }),
      'broken',
      'broken: GET /api/items answered 200 with a page instead of data (src/main.tsx:3:16)',
    ],
    [
      "a WebSocket of the visitor's machine",
      seen({
        sockets: [{ url: 'ws://localhost:4000/', state: 'refused', hotReload: false, isReplaced: false }],
      }),
      'broken',
      "broken: The page requests ws://localhost:4000/, which is the visitor's own machine and not the sandbox: use a relative URL, or the preview of that port.",
    ],
    [
      'a page that cannot be measured',
      { ...seen(), facts: null },
      'unclear',
      'unclear: The page cannot be measured.',
    ],
    ['an answer in JSON', seen({ contentType: 'application/json' }, BLANK), 'works', 'works'],
    [
      'a slow page that shows',
      seen({ interruption: 'time' }),
      'unclear',
      'unclear: The page was not complete after 15 s.',
    ],
  ])('recognizes %s', (_name, observation, result, summary) => {
    const found = classifyPage(observation);
    expect([found.result, summaryOf(found)]).toEqual([result, summary]);
  });

  test('removes token and query from the timeline', () => {
    const token = formatPreviewToken(new Uint8Array(32));
    const message = `Uncaught Error: http://${token}-preview.localhost/ is closed`;
    const found = {
      result: 'broken' as const,
      causes: [{ kind: 'uncaught_error' as const, message, place: AT }],
    };
    const { data } = pageLooked({ port: 3000, path: '/a?key=1', by: 'agent' }, found, new Date(0));
    expect(data).toEqual({
      target_port: 3000,
      path: '/a',
      result: 'broken',
      cause: 'Uncaught Error: http://[preview token]-preview.localhost/ is closed',
      place: 'src/main.tsx:3:16',
      by: 'agent',
    });
  });

  test.each([
    ['look', 32_000],
    ['check', 8_000],
  ] as const)('truncates the text of a %s to %d characters, worst first', (kind, most) => {
    const place = { file: 'a.js', line: 1, column: 1 };
    const console = Array.from({ length: 500 }, (_, at) => ({
      level: at === 499 ? ('error' as const) : ('log' as const),
      text: 'x'.repeat(1_000),
      place,
      byPage: true,
    }));
    const errors = Array.from({ length: 30 }, () => ({ message: 'y'.repeat(1_000), frames: [] }));
    const observation = seen({ console, errors, outline: 'z'.repeat(100_000) });
    const report = pageReport(kind, { ...classifyPage(observation), observation, difference: null });
    expect(JSON.stringify(report).length).toBeLessThan(most);
    expect(report.observation.console[0]?.level).toBe('error');
    expect(report.leftOut['errors']).toBeGreaterThan(20);
  });
});
