import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type BrowserServer, SIGNING_KEYS, startBrowserServer } from '#test/support/browser-server.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { startViteProject, type ViteProject } from '#test/support/vite-project.ts';
import { startPreview } from '../../examples/demo/open-preview.ts';
import { openSandbox, type SandboxWithPreview } from './app-in-sandbox.ts';

interface Check {
  readonly result: 'works' | 'broken' | 'unclear';
  readonly summary: string;
  readonly causes: readonly {
    readonly kind: string;
    readonly message: string;
    readonly file: string | null;
    readonly line: number | null;
  }[];
  readonly [field: string]: unknown;
}

const BLOCKING = '/never';

/** Path, kind of the first cause, and a part of its sentence. */
const FAULTS: readonly (readonly [path: string, kind: string, names: RegExp])[] = [
  ['/blank', 'blank', /div#root is empty/],
  ['/missing-chunk', 'script_failed', /\/assets\/chunk-4f2a\.js answered 404/],
  ['/missing-script', 'script_failed', /\/assets\/app\.js answered 404/],
  ['/html-for-script', 'wrong_type', /MIME type/],
  ['/uncaught', 'uncaught_error', /reading 'lines'/],
  ['/rejection', 'uncaught_error', /No session \(unhandled rejection\)/],
  ['/api-500', 'request_failed', /GET \/api\/500 answered 500/],
  ['/cors?other=OTHER', 'cors', /preview:4000\/api\/items/],
  ['/wrong-port', 'visitor_machine', /localhost:8000\/api\/items/],
  ['/env', 'request_failed', /\/undefined\/items answered 404.*environment variable/],
  ['/spinner', 'still_loading', /shows only "Loading…"/],
  ['/pending', 'still_loading', /waits for \/slow/],
  ['/image', 'resource_failed', /image \/img\/logo\.png answered 404/],
  ['/font', 'resource_failed', /font \/fonts\/f\.woff2 answered 404/],
  ['/stylesheet', 'stylesheet_failed', /\/assets\/app\.css answered 404/],
  ['/zero-height', 'zero_size', /div#shell has no height/],
  ['/covered', 'covered', /div\.veil lies over the whole page/],
  ['/socket', 'socket_refused', /WebSocket \/live was refused/],
  ['/hydration', 'hydration', /Hydration failed/],
  ['/500', 'document_status', /answers 500: Error Error: database is locked/],
  ['/csp', 'csp', /Content Security Policy/],
  ['/base-path', 'script_failed', /\/shop\/assets\/index\.js answered 404/],
  // The last one.
  [BLOCKING, 'interrupted', /blocks its main thread/],
];

const HEALTHY = [
  'static',
  'spa',
  'fetches',
  'session',
  'canvas',
  'image',
  'form',
  'chatty',
  'backdrop',
  'dialog',
  'caught',
  'service-worker',
  'stream',
  'worker',
  'drawing',
  'lazy',
  'rtl',
  'skeleton',
  'polls',
  'dark',
  'table',
  'itself',
  'strict',
  'report-only',
  'print',
  'json',
  'text',
  'signed-out',
  'sibling?other=OTHER',
];

/**
 * What is recorded in different ways, and pages that need more than one request: a browser server
 * runs the same code as the host, and only the transport of its visits differs. Pages that block:
 * see `hostile-looks.test.ts`.
 */
const REMOTE: ReadonlySet<string> = new Set([
  '/blank',
  '/uncaught',
  '/cors?other=OTHER',
  '/pending',
  '/covered',
  '/socket',
  '/500',
  'session',
  'canvas',
  'dialog',
  'service-worker',
  'stream',
  'signed-out',
  'sibling?other=OTHER',
]);

/** Timeout of tests that check three pages at a time, for a busy machine. */
const LIMIT = 120_000;

/** Where the browser runs: beside the host, or beside a server of visits. */
const PLACES = ['on this machine', 'beside a browser server'] as const;

const looksOf = (where: (typeof PLACES)[number]) => () => {
  let porthole: TestHost;
  let browsers: BrowserServer | undefined;
  let opened: SandboxWithPreview;
  let vite: ViteProject;
  let other: string;

  beforeAll(async () => {
    if (where === 'beside a browser server') browsers = await startBrowserServer();
    porthole = await startTestHost(
      browsers && { PORTHOLE_BROWSERS_URL: browsers.url.href, PORTHOLE_SIGNING_KEYS: SIGNING_KEYS },
    );
    [opened, vite] = await Promise.all([openSandbox(porthole), startViteProject(porthole)]);
    const { api, sandbox, serve, runId } = opened;
    await api.write(sandbox, 'apps.mjs', readFileSync(join(import.meta.dirname, 'look-apps.mjs')));
    await api.exec(sandbox, ['sh', '-c', `(node apps.mjs 4000 > other.log 2>&1 &)`]);
    await serve('node apps.mjs 3000');
    other = (await startPreview(api, runId, 4000)).preview_url ?? '';
  }, LIMIT);
  afterAll(async () => {
    await porthole?.end();
    await browsers?.end();
  });

  const post = async (
    what: 'check' | 'look',
    body: object,
    { runId, port } = { runId: opened.runId, port: 3000 },
  ) => {
    const answer = await porthole.call('POST', `/api/runs/${runId}/previews/${port}/${what}`, { body });
    expect([answer.status, answer.text.slice(0, 300)]).toEqual([200, expect.any(String)]);
    // Neither token nor address of a preview: agents may copy this text anywhere.
    expect(answer.text).not.toContain(new URL(opened.url).host.split('-preview')[0]);
    return answer.json<Check>();
  };
  const isAll = where === 'on this machine' || process.env['PORTHOLE_TEST_REPETITIONS'] === 'all';
  const faults = FAULTS.filter(([path]) => isAll || REMOTE.has(path));
  const healthy = HEALTHY.filter((path) => isAll || REMOTE.has(path));
  const check = (path: string) => post('check', { path: path.replace('OTHER', encodeURIComponent(other)) });

  test(
    'names the fault of each app that has one',
    async () => {
      const others = faults.filter(([path]) => path !== BLOCKING);
      const found = await Promise.all(others.map(([path]) => check(path)));
      // Alone: beside others it is opened again in another browser, and blocks that as well.
      if (faults.length > others.length) found.push(await check(BLOCKING));
      const shown = found.map(({ result, causes }, at) => [
        faults[at]?.[0],
        result,
        causes[0]?.kind,
        causes[0]?.message,
      ]);
      expect(shown).toEqual(
        faults.map(([path, kind, names]) => [path, 'broken', kind, expect.stringMatching(names)]),
      );
    },
    LIMIT,
  );

  test(
    'says that healthy apps work',
    async () => {
      const found = await Promise.all(healthy.map((path) => check(`/ok/${path}`)));
      expect(found.map(({ summary }, at) => [healthy[at], summary])).toEqual(
        healthy.map((path) => [path, 'works']),
      );
    },
    LIMIT,
  );

  test('counts its time as usage', async () => {
    const began = performance.now();
    const counted = async (): Promise<number> => {
      await porthole.host.lifecycle();
      const answer = await porthole.call('GET', `/v1/usage?by=run&run=${opened.runId}`);
      return answer.json<{ usage: { look_s: number }[] }>().usage[0]?.look_s ?? 0;
    };
    const before = await counted();
    await check('/ok/static');
    const after = await counted();
    expect(after).toBeGreaterThan(before);
    expect(after - before).toBeLessThan((performance.now() - began) / 1_000);
  });

  test('maps an error to the line of its source', async () => {
    const { summary } = await check('/uncaught');
    expect(summary).toMatch(/^broken: Uncaught TypeError: .* \(src\/total\.ts:7:4\)$/);
  });

  test('takes a picture, an outline and the steps before them', async () => {
    const look = await post('look', {
      path: '/steps',
      steps: [
        { action: 'fill', selector: '#who', value: 'Ada' },
        { action: 'click', selector: 'text=Greet' },
      ],
      wait_for: { text: 'Hello Ada' },
    });
    expect(look).toMatchObject({ result: 'works', outline: expect.stringContaining('paragraph: Hello Ada') });
    const { media_type, data } = look['screenshot'] as { media_type: string; data: string };
    expect([media_type, data.slice(0, 8)]).toEqual(['image/png', 'iVBORw0K']);
  });

  test('lists serious barriers to people with disabilities, with their elements', async () => {
    const look = await post('look', { path: '/barriers' });
    const found = look['accessibility'] as readonly { rule: string; elements: readonly string[] }[];
    expect([look.result, ...found.map(({ rule, elements }) => [rule, elements])]).toEqual([
      'works',
      ['color-contrast', ['p']],
      ['image-alt', ['img']],
      ['label', ['#q']],
    ]);
    expect(await post('look', { path: '/ok/static' })).toMatchObject({ accessibility: [] });
    expect(await post('check', { path: '/barriers' })).not.toHaveProperty('accessibility');
  });

  test(
    'names the step that fails and the elements there are, with the picture at that moment',
    async () => {
      const { summary, failed_step, screenshot } = await post('look', {
        path: '/steps',
        steps: [
          { action: 'fill', selector: '#who', value: 'Ada' },
          { action: 'click', selector: '#greet' },
        ],
      });
      expect(failed_step).toEqual({
        step: 2,
        reason: expect.stringMatching(/Timeout 5000ms exceeded/),
        nearest: ['button "Greet"', 'textbox "Name": Ada'],
      });
      expect(summary).toMatch(
        /^broken: Step 2 failed: .* The page has: button "Greet", textbox "Name": Ada\.$/,
      );
      expect(screenshot).toMatchObject({ media_type: 'image/png', width: 1280 });
    },
    LIMIT,
  );

  test(
    'names what a page that never settles is loading',
    async () => {
      const { causes, still_loading } = await post('check', { path: '/pending', wait_for: 'network_idle' });
      expect(still_loading).toEqual(['/slow']);
      expect(causes.map(({ message }) => message)).toEqual([
        'What was waited for did not appear: the network was not idle within 8 s, still loading: /slow.',
        'The page shows only "Loading orders…" after 4 s. It waits for /slow.',
      ]);
    },
    LIMIT,
  );

  test(
    'reads the overlay of Vite, and the page once the fault is gone',
    async () => {
      const { run, port, write } = vite;
      const of = { runId: run.run_id, port };
      expect(await post('check', {}, of)).toMatchObject({ summary: 'works', hot_reload: 'connected' });
      const heading = "export default 'Hello again';\n";
      await write('src/heading.js', `import './nowhere.js';\n${heading}`);
      const { summary } = await post('check', {}, of);
      expect(summary).toMatch(
        /^broken: Vite shows an error: Failed to resolve import "\.\/nowhere\.js" .*\(.*src\/heading\.js:1:\d+\)$/,
      );
      await write('src/heading.js', heading);
      expect(await post('check', {}, of)).toMatchObject({ summary: 'works' });
    },
    LIMIT,
  );

  test(
    'lets an agent see its fault over MCP, correct it, and see that the page works',
    async () => {
      const { run, port } = vite;
      const client = new Client({ name: 'tests', version: '1.0.0' });
      await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', porthole.host.url)));
      const use = async (name: string, more: object = {}) => {
        const { content } = await client.callTool({
          name,
          arguments: { run_id: run.run_id, ...(name !== 'write_file' && { port }), ...more },
        });
        return (content as { text: string }[])[0]?.text;
      };
      const write = (content: string) => use('write_file', { path: 'site/src/heading.js', content });
      try {
        expect(await use('start_preview')).toMatch(/is live at http\S+\. Its page works\.$/);
        await write("import './nowhere.js';\n");
        const fault = /Vite shows an error: Failed to resolve import .*src\/heading\.js:1:\d+\)\./;
        const started = await use('start_preview');
        expect(started).toMatch(fault);
        expect(started).toContain('but its page is broken');
        expect(await use('start_preview', { check: false })).toMatch(/is live at http\S+\.$/);
        expect(await use('doctor')).toMatch(fault);
        await write("export default 'Hello again';\n");
        expect(await use('check')).toMatch(/^works/);
        expect(await use('doctor')).toMatch(/Its page works\.$/);
      } finally {
        await client.close();
      }
    },
    LIMIT,
  );

  test(
    'checks the page for the API where it is asked to, and not otherwise',
    async () => {
      const { run, port, write } = vite;
      await write('src/heading.js', "import './nowhere.js';\n");
      const start = async (check: boolean) =>
        (
          await porthole.call('POST', `/api/runs/${run.run_id}/sandbox/port-forward`, {
            body: { target_port: port, check },
          })
        ).json();
      const doctor = async (check: boolean) =>
        (
          await porthole.call('GET', `/api/runs/${run.run_id}/sandbox/doctor?port=${port}&check=${check}`)
        ).json<{ ports: readonly Record<string, unknown>[] }>();
      expect(await start(false)).not.toHaveProperty('page');
      expect(await start(true)).toMatchObject({
        ready: true,
        page: {
          result: 'broken',
          causes: expect.arrayContaining([
            expect.objectContaining({ kind: 'error_overlay', file: expect.stringMatching(/heading/) }),
          ]),
        },
      });
      expect((await doctor(false)).ports).toMatchObject([{ ready: true, page: null }]);
      expect(await doctor(true)).toMatchObject({
        page_checks: true,
        ports: [{ ready: false, page: { result: 'broken' } }],
      });
    },
    LIMIT,
  );

  test('says that nothing listens, with what the doctor says', async () => {
    const { api, runId } = opened;
    await startPreview(api, runId, 3999);
    const { result, causes } = await post('check', {}, { runId, port: 3999 });
    expect([result, causes[0]?.kind, causes[0]?.message]).toEqual([
      'broken',
      'gateway',
      expect.stringMatching(/nothing_listens.*Nothing listens on port 3999/),
    ]);
  });

  test('refuses a port without a preview, and a path that leaves it', async () => {
    const path = `/api/runs/${opened.runId}/previews/3001/check`;
    const missing = await porthole.call('POST', path, { body: {} });
    expect([missing.status, missing.json()]).toEqual([
      404,
      expect.objectContaining({
        code: 'preview_not_found',
        error: expect.stringMatching(
          /^Port 3001 has no live preview: start one \(in the sandbox: porthole preview 3001; elsewhere: porthole preview \S+ 3001; MCP: start_preview\).* Nothing listens on port 3001/,
        ),
      }),
    ]);
    for (const outward of ['//evil.test', 'http://evil.test', '/\\evil.test']) {
      const refused = await porthole.call('POST', path, { body: { path: outward } });
      expect([refused.status, refused.json()['code']]).toEqual([400, 'invalid_request']);
    }
  });

  test('tells the timeline of the result, without the query', async () => {
    await check('/missing-chunk?secret=1');
    const { events } = (await porthole.call('GET', `/api/runs/${opened.runId}/timeline?limit=1000`)).json<{
      events: { type: string; data: Record<string, unknown> }[];
    }>();
    expect(events.filter(({ type }) => type === 'preview.looked').at(-1)?.data).toMatchObject({
      target_port: 3000,
      path: '/missing-chunk',
      result: 'broken',
      cause: expect.stringContaining('/assets/chunk-4f2a.js answered 404'),
      by: 'owner',
    });
  });
};

for (const where of PLACES) {
  suite(`what a browser sees of a preview, ${where}`, chromiumMissing, looksOf(where));
}
