/** Front ends that call `http://localhost:{port}`, unchanged, in a real browser. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { chromiumMissing } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { startPreview } from '../../examples/demo/open-preview.ts';
import { connect, type PortholeApi } from '../../examples/demo/porthole-api.ts';
import { packagesFolder } from './framework-cache.ts';
import { type FrameworkHarness, openLocalHarness } from './framework-harness.ts';
import {
  clientOf,
  filesOf,
  LOCALHOST_PAIRS,
  type LocalhostPair,
  pairMissing,
  SHOWN,
} from './localhost-pairs.ts';

/** Installs nothing: compilers on a busy machine. */
const TEST_MS = 300_000;
const SHOWN_MS = 90_000;

/** All, or those with one of these words in their names; the core without any. */
const names = (process.env['PORTHOLE_FRAMEWORKS'] ?? '').split(',').filter(Boolean);
const isWanted = ({ name, core }: LocalhostPair): boolean =>
  names.length === 0
    ? core === true
    : names.includes('all') || names.some((each) => name.toLowerCase().includes(each));

let harness: FrameworkHarness;
let api: PortholeApi;
beforeAll(async () => {
  harness = await openLocalHarness();
  api = connect(harness.porthole.host.url, undefined);
});
afterAll(() => harness?.end());

/** The URL of the preview of a part, once its server listens. */
async function serve(
  pair: LocalhostPair,
  which: 'front' | 'api',
  { id, runId }: { readonly id: string; readonly runId: string },
): Promise<string> {
  const part = pair[which];
  if (part.project !== undefined) await harness.place(packagesFolder(part.project), id, which);
  for (const [path, text] of Object.entries(await filesOf(part, clientOf(pair)))) {
    await api.write(id, `${which}/${path}`, text);
  }
  const script = `export PATH="$PWD/node_modules/.bin:$PWD/venv/bin:$PATH"; (${part.start}) > ../${which}.log 2>&1 &`;
  await api.exec(id, ['sh', '-c', script], which);
  const deadline = performance.now() + SHOWN_MS;
  for (;;) {
    const { ready, preview_url: url } = await startPreview(api, runId, part.port);
    if (ready && url !== null) return url;
    if (performance.now() > deadline) throw new Error(await api.read(id, `${which}.log`));
    await pause(100);
  }
}

for (const pair of LOCALHOST_PAIRS.filter(isWanted)) {
  suite(pair.name, chromiumMissing ?? pairMissing(pair), () => {
    test(
      'reaches its API on localhost, and nothing on the machine of the visitor',
      async () => {
        const { id } = await api.call<{ id: string }>('POST', '/v1/sandbox', {
          env: { PORTHOLE_LOCALHOST: 'map' },
        });
        const { run_id: runId } = await api.call<{ run_id: string }>('POST', '/api/runs', { sandbox_id: id });
        await serve(pair, 'api', { id, runId });
        const url = await serve(pair, 'front', { id, runId });
        const page = await harness.browser.newPage();
        const outside: string[] = [];
        await page.route(
          ({ hostname, port }) =>
            ['localhost', '127.0.0.1'].includes(hostname) && port !== String(harness.porthole.host.port),
          async (route) => {
            outside.push(route.request().url());
            await route.abort();
          },
        );
        try {
          await page.goto(url, { timeout: SHOWN_MS });
          await page.locator('h1', { hasText: SHOWN }).waitFor({ timeout: SHOWN_MS });
          expect(outside).toEqual([]);
        } catch (error) {
          const log = await api.read(id, 'api.log');
          throw new Error(`${await page.content()}\n${log}`, { cause: error });
        } finally {
          await page.close();
          await api.call('DELETE', `/v1/sandbox/${id}`);
        }
      },
      TEST_MS,
    );
  });
}
