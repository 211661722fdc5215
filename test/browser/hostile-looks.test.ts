import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type BrowserServer, SIGNING_KEYS, startBrowserServer } from '#test/support/browser-server.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { openSandbox, type SandboxWithPreview } from './app-in-sandbox.ts';

const WORKS = /^works$/;
const DIALOGS = /^broken: The page opens dialogs or windows endlessly/;
const PRINTS = /^broken: The page prints to the console endlessly/;
const BLOCKS = /^broken: The page does not respond: a script blocks its main thread/;
/** A slow machine may not get so far within the time of a look. */
const MEMORY = /^(?:broken: The page used more than 512 MiB of memory|unclear: The page cannot be measured)/;
const LEAVES = /^broken: The page requests \S+, which is the visitor's own machine/;
/** Depends on the speed of the machine. */
const ENDS = /^(?:works$|broken: |unclear: )/;
/** After 15 navigations, or what was seen until then on a slow machine. */
const STOPS = /^(?:works$|broken: The page reloads or redirects itself endlessly|broken: The page was not)/;

/** Pages of `hostile-apps.mjs`, and what a check says of each. */
const QUICK: Readonly<Record<string, RegExp>> = {
  alerts: DIALOGS,
  confirms: DIALOGS,
  prompts: DIALOGS,
  prints: WORKS,
  redirects: /^broken: The page redirects endlessly, last to \/redirects\?more/,
  reloads: STOPS,
  refreshes: ENDS,
  submits: STOPS,
  // Its calls keep the page from the counters of its script, too.
  history: /^(?:broken: The page does not respond: a script blocks its main thread|unclear: )/,
  // Its navigation may end the measurement on a slow machine.
  leaves: /^(?:works$|unclear: )/,
  // As many as the time of the look allows.
  windows: /^(?:works$|broken: The page opens dialogs or windows endlessly)/,
  debuggers: WORKS,
  elements: MEMORY,
  arrays: MEMORY,
  strings: ENDS,
  depth: ENDS,
  canvases: ENDS,
  storage: WORKS,
  worker: WORKS,
  miner: WORKS,
  floods: PRINTS,
  throws: /^broken: /,
  lies: WORKS,
  permissions: WORKS,
  clipboard: WORKS,
  download: /^broken: The address is a download, not a page/,
  downloads: WORKS,
  password: /^broken: The page asks for a user name and a password/,
  away: /^broken: The page redirects to another origin, which a look does not open/,
  'away-later': LEAVES,
  'away-refresh': LEAVES,
  'away-form': LEAVES,
  'away-window': WORKS,
  escapes: LEAVES,
  links: LEAVES,
  scripts: LEAVES,
  webrtc: WORKS,
  reports: LEAVES,
  parting: WORKS,
  metadata: LEAVES,
  api: LEAVES,
  files: ENDS,
};
/** Most take as long as a look may take. */
const SLOW: Readonly<Record<string, RegExp>> = {
  hashes: ENDS,
  closes: ENDS,
  loops: BLOCKS,
  regexp: BLOCKS,
  microtasks: /^broken: /,
  layouts: ENDS,
  frames: ENDS,
  nested: ENDS,
  entities: /^broken: /,
  gzip: /^broken: /,
  endless: ENDS,
  drip: ENDS,
  sockets: ENDS,
  fetches: /^broken: /,
  objects: ENDS,
  programs: ENDS,
};

/** Those that end in the most different ways: the same limits hold beside a server. */
const REMOTE = [
  'alerts',
  'redirects',
  'history',
  'arrays',
  'floods',
  'lies',
  'download',
  'away-later',
  'escapes',
  'parting',
];

/** Pages at a time. One place is left for a look at another page. */
const AT_ONCE = 2;
const LIMIT = 300_000;

const looksOf = (where: 'on this machine' | 'beside a browser server') => () => {
  let porthole: TestHost;
  let browsers: BrowserServer | undefined;
  let opened: SandboxWithPreview;
  const outside = { tcp: [createServer(), createServer()] as const, udp: createSocket('udp4') };
  /** What the servers that no page may reach were sent. */
  const reached: string[] = [];

  beforeAll(async () => {
    const [first, second] = outside.tcp;
    for (const server of outside.tcp) {
      server.on('connection', (socket) => {
        reached.push('a connection');
        socket.on('error', () => undefined).once('data', (data) => reached.push(data.toString()));
      });
    }
    first.listen(0, '127.0.0.1');
    await once(first, 'listening');
    const { port } = first.address() as AddressInfo;
    second.listen(port, '127.0.0.2');
    outside.udp.on('message', () => reached.push('a datagram')).bind(port, '127.0.0.1');
    await Promise.all([once(second, 'listening'), once(outside.udp, 'listening')]);
    if (where === 'beside a browser server') browsers = await startBrowserServer();
    porthole = await startTestHost(
      browsers && { PORTHOLE_BROWSERS_URL: browsers.url.href, PORTHOLE_SIGNING_KEYS: SIGNING_KEYS },
    );
    opened = await openSandbox(porthole);
    const { api, sandbox, serve } = opened;
    await api.write(sandbox, 'apps.mjs', readFileSync(join(import.meta.dirname, 'hostile-apps.mjs')));
    await serve(`node apps.mjs 3000 ${port} ${porthole.host.port}`);
  });
  afterAll(async () => {
    await porthole?.end();
    await browsers?.end();
    for (const server of outside.tcp) server.close();
    outside.udp.close();
  });

  const check = async (path: string): Promise<string> => {
    const answer = await porthole.call('POST', `/api/runs/${opened.runId}/previews/3000/check`, {
      body: { path },
    });
    if (answer.status === 200) return answer.json<{ summary: string }>().summary;
    return [answer.text, ...failures()].join('\n');
  };
  const failures = (): readonly string[] =>
    [...porthole.logged, ...(browsers?.logged ?? [])].filter((line) => line.includes('browser failed'));

  test(
    'ends each page and says why, answers others meanwhile, and lets no request leave',
    async () => {
      const isAll = process.env['PORTHOLE_TEST_REPETITIONS'] === 'all';
      const pages = Object.entries(isAll ? { ...QUICK, ...SLOW } : QUICK).filter(
        ([name]) => isAll || browsers === undefined || REMOTE.includes(name),
      );
      const left = [...pages];
      const found: Record<string, string> = {};
      const healthy: string[] = [];
      const calls: number[] = [];
      const progress = { isOver: false };
      const lane = async () => {
        for (let next = left.shift(); next !== undefined; next = left.shift()) {
          found[next[0]] = await check(`/${next[0]}`);
        }
      };
      const until = async (work: () => Promise<unknown>) => {
        while (!progress.isOver) await Promise.all([work(), pause(500)]);
      };
      await Promise.all([
        Promise.all(Array.from({ length: AT_ONCE }, lane)).finally(() => (progress.isOver = true)),
        until(async () => healthy.push(await check('/healthy'))),
        until(async () => calls.push((await porthole.call('GET', '/api/runs')).status)),
      ]);
      expect(found).toEqual(
        Object.fromEntries(pages.map(([name, says]) => [name, expect.stringMatching(says)])),
      );
      expect([new Set(healthy), new Set(calls)]).toEqual([new Set(['works']), new Set([200])]);
      const operations = porthole.logged.map(
        (line) => (JSON.parse(line) as { operation?: string }).operation,
      );
      // The test's own run.
      expect(operations.filter((operation) => operation === 'createRun')).toHaveLength(1);
      expect(reached).toEqual([]);
      // A starved machine may end the process, and then the looks are repeated.
      expect(failures().filter((line) => !line.includes('The browser process ended'))).toEqual([]);
    },
    LIMIT,
  );
};

for (const where of ['on this machine', 'beside a browser server'] as const) {
  suite(`looks at hostile pages, ${where}`, chromiumMissing, looksOf(where));
}
