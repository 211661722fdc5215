import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { chromiumMissing } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { filesPane } from './console-sandboxes/files-pane.ts';
import { sandboxPage } from './console-sandboxes/sandbox-page.ts';
import { terminalPane, vimMissing } from './console-sandboxes/terminal-pane.ts';
import { violations } from './support/console-fixture.ts';
import { consoleSuite } from './support/console-suite.ts';

/** A sandbox in the API's format. */
const SANDBOX = {
  state: 'stopped',
  desired_state: 'stopped',
  owner: 'local',
  image: null,
  session_key: null,
  tags: {},
  resources: { cpu: 1, memory_mb: 1_024, disk_mb: 1_024 },
  skills: [],
  network: false,
  created_at: '2026-01-01T00:00:00.000Z',
  last_active_at: '2026-01-01T00:00:00.000Z',
  stopped_at: null,
  ttl_seconds: null,
  delete_with_thread: false,
  expires_at: null,
};

suite('sandboxes in the console, in a real browser', chromiumMissing ?? vimMissing, () => {
  const here = consoleSuite(
    {},
    { viewport: { width: 1100, height: 760 }, permissions: ['clipboard-read', 'clipboard-write'] },
  );
  const own = sandboxPage(here);
  const { line, type } = own;
  let page: Page;
  beforeAll(() => {
    ({ page } = own);
  });

  terminalPane(here, own);
  filesPane(here, own);

  describe('the list of sandboxes', () => {
    const row = (name: string) => page.locator('.list tr', { hasText: name });
    const dialog = () => page.getByRole('dialog', { name: 'New sandbox' });
    const create = () => dialog().getByRole('button', { name: 'Create sandbox', exact: true }).click();

    test('makes one, tells what is wrong at its field, and where the name is taken', async () => {
      await page.goto(`${own.way.url}/sandboxes`);
      await page.getByRole('button', { name: 'New sandbox' }).click();
      await dialog()
        .getByText(/0\.1 or more; \d+ if left empty\./)
        .waitFor();
      await dialog().getByLabel('Name', { exact: true }).fill('no spaces');
      await dialog().getByText('More', { exact: true }).click();
      expect(await violations(page)).toEqual([]);
      await dialog().getByLabel('Environment').fill('NO_SIGN');
      await create();
      await dialog().getByText('A line is no NAME=value.').waitFor();
      await dialog().getByText('1 to 63 letters').waitFor();
      await dialog().getByLabel('Name', { exact: true }).fill('bench');
      await dialog().getByLabel('Environment').fill('GREETING=hello world');
      await dialog().getByLabel('Tags').fill('team:blue\nthread_id: 42');
      await dialog().getByLabel('CPU').fill('0.01');
      await create();
      await dialog().getByText('must be a number of CPUs from 0.1 to 1024').waitFor();
      expect(await violations(page)).toEqual([]);
      await dialog().getByLabel('CPU').fill('');
      await create();
      await dialog().getByText('Another one of yours has this name.').waitFor();
      expect(await dialog().getByRole('link', { name: 'Open that sandbox' }).getAttribute('href')).toBe(
        `/sandboxes/${own.id}`,
      );
      await dialog().getByLabel('Name', { exact: true }).fill('second');
      await create();
      await page.getByRole('heading', { name: 'second' }).waitFor();
      await page.getByText('Connected').waitFor();
      await type('echo "$GREETING" > /workspace/greeting; echo "do"ne');
      await line('done').waitFor();
      const other = new URL(page.url()).pathname.split('/').at(-1) ?? '';
      const said = await here.porthole.call('GET', `/v1/sandbox/${other}/file/workspace/greeting`);
      expect(said.text).toBe('hello world\n');
    });

    test('is filtered, and is as it was after a reload', async () => {
      await page.goto(`${own.way.url}/sandboxes`);
      await row('second').waitFor();
      await page.getByRole('button', { name: 'Filters' }).click();
      await page.getByLabel('Tag', { exact: true }).fill('nonsense');
      await page.getByText('A tag is key:value.').waitFor();
      await page.getByLabel('Tag', { exact: true }).fill('team:blue');
      await row('bench').waitFor({ state: 'detached' });
      await row('second').waitFor();
      await page.reload();
      await row('second').waitFor();
      expect(await row('bench').count()).toBe(0);
      await page.getByRole('searchbox', { name: 'Find' }).fill('BENCH');
      await page.getByText('No sandbox matches').waitFor();
      await page.getByRole('button', { name: 'Show all' }).click();
      await row('bench').waitFor();
      await page.getByRole('searchbox', { name: 'Find' }).fill('team:bl');
      await row('bench').waitFor({ state: 'detached' });
      await page.getByText('1 sandbox', { exact: true }).waitFor();
      await page.getByRole('searchbox', { name: 'Find' }).fill('');
      await row('bench').waitFor();
      expect(await violations(page)).toEqual([]);
    });

    test('has the actions of a row in one line on a phone', async () => {
      const size = page.viewportSize();
      await page.setViewportSize({ width: 390, height: 844 });
      const tops = await Promise.all(
        ['Stop second', 'Delete second'].map(async (name) => {
          const box = await page.getByRole('button', { name }).boundingBox();
          return [box?.y, (box?.width ?? 0) >= 24];
        }),
      );
      expect(tops[0]).toEqual([tops[1]?.[0], true]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      if (size !== null) await page.setViewportSize(size);
    });

    test('stops, resumes and deletes, and says what is lost', async () => {
      await page.getByRole('button', { name: 'Stop second' }).click();
      await row('second').getByText('stopped').waitFor();
      await page.getByRole('button', { name: 'Resume second' }).click();
      await row('second').getByText('running').waitFor();
      await page.getByRole('button', { name: 'Delete second' }).click();
      await page.getByText('This also deletes its files').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Delete it' }).click();
      await row('second').waitFor({ state: 'detached' });
    });

    test('deletes several at once, and tells what failed', async () => {
      const { sandboxes } = here.porthole.host.services.records;
      const known = await sandboxes.get(own.id);
      if (known === undefined) throw new Error('the sandbox is gone');
      for (const at of [1, 2, 3]) {
        await sandboxes.create({
          ...known,
          id: `several${'abc'[at - 1]}`,
          name: `several-${at}`,
          sessionKey: null,
          desired: 'stopped',
          observed: 'stopped',
        });
      }
      await page.getByRole('searchbox', { name: 'Find' }).fill('several');
      await page.getByText('3 sandboxes', { exact: true }).waitFor();
      await page.getByRole('checkbox', { name: 'All sandboxes shown' }).check({ force: true });
      await page.route('**/v1/sandbox/severalb', (route) =>
        route.fulfill({ status: 503, json: { error: 'Not now.', code: 'service_unavailable' } }),
      );
      expect(await page.getByRole('button', { name: 'Stop 0 sandboxes' }).isDisabled()).toBe(true);
      await page.getByRole('button', { name: 'Delete 3 sandboxes' }).click();
      const confirm = page.getByRole('dialog', { name: /Delete \d sandbox/ });
      expect(await confirm.getByRole('listitem').allTextContents()).toEqual([
        'several-3',
        'several-2',
        'several-1',
      ]);
      await confirm.getByRole('button', { name: 'Delete', exact: true }).click();
      await confirm.getByRole('alert').getByText('1 of 3 failed. several-2: Not now.').waitFor();
      await page.unroute('**/v1/sandbox/severalb');
      await confirm.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByText('No sandbox matches').waitFor();
      await page.getByRole('button', { name: 'Show all' }).click();
      await row('bench').waitFor();
    });

    test('says what is too much in words, and lets a person wait no longer', async () => {
      const words = 'You have 3 of the 3 sandboxes of your quota: stop or delete a sandbox.';
      let isAnswered = false;
      await page.route('**/v1/sandbox', async (route) => {
        if (isAnswered) return;
        isAnswered = true;
        await route.fulfill({ status: 429, json: { error: words, code: 'quota_exceeded' } });
      });
      await page.getByRole('button', { name: 'New sandbox' }).click();
      await create();
      await dialog().getByRole('alert').getByText(words).waitFor();
      await create();
      await dialog().getByText('It is being made').waitFor();
      await dialog().getByRole('button', { name: 'Cancel' }).click();
      await dialog().waitFor({ state: 'detached' });
      await page.unroute('**/v1/sandbox');
    });

    test('says that Porthole cannot be reached, and goes on once it can', async () => {
      await page.route('**/v1/sandbox?*', (route) => route.abort());
      await page.goto(`${own.way.url}/sandboxes`);
      await page.getByText('Can’t reach Porthole').waitFor();
      await page.unroute('**/v1/sandbox?*');
      await page.getByRole('button', { name: 'Try again' }).click();
      await row('bench').waitFor();
      await page.getByText('Can’t reach Porthole').waitFor({ state: 'detached' });
    });

    test('goes beyond one page of the API', async () => {
      const all = Array.from({ length: 260 }, (_, at) => ({
        ...SANDBOX,
        id: `many${String(at).padStart(4, '0')}`,
        name: `many-${at}`,
      }));
      await page.route('**/v1/sandbox?*', (route) => {
        const query = new URL(route.request().url()).searchParams;
        const from = Number(query.get('after') ?? 0);
        const to = from + Number(query.get('limit'));
        return route.fulfill({
          json: {
            sandboxes: all.slice(from, to),
            next: to < all.length ? String(to) : null,
            total: query.get('count') === 'true' ? all.length : null,
          },
        });
      });
      await page.goto(`${own.way.url}/sandboxes`);
      await page.getByText('50 of 260 sandboxes shown').waitFor();
      await page.getByRole('button', { name: 'Show more' }).click();
      await page.getByText('250 of 260 sandboxes shown').waitFor();
      await page.getByRole('button', { name: 'Show more' }).click();
      await page.getByRole('link', { name: 'many-259' }).waitFor();
      expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
      await page.unroute('**/v1/sandbox?*');
    });
  });

  describe('a sandbox', () => {
    test('shows how its limits are enforced and its grants, which can be revoked', async () => {
      await here.porthole.call('POST', `/v1/sandbox/${own.id}/delegate`, {
        body: { scopes: ['fs:read'], label: 'a reviewer' },
      });
      await page.goto(`${own.way.url}/sandboxes/${own.id}?pane=details`);
      await page.getByText('(enforced by disk watch)').waitFor();
      await page.getByRole('cell', { name: 'read files' }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Revoke what a reviewer may' }).click();
      await page.getByRole('button', { name: 'Revoke it' }).click();
      await page.getByText('Not shared with anyone.').waitFor();
    });

    test('lists its servers and processes as they come and go', async () => {
      await page.goto(`${own.way.url}/sandboxes/${own.id}?pane=logs`);
      await page.getByText('No servers or processes').waitFor();
      const body = { argv: ['sleep', '600'], name: 'long' };
      const started = await here.porthole.call('POST', `/v1/sandbox/${own.id}/processes`, { body });
      await here.porthole.call('PUT', `/v1/sandbox/${own.id}/servers/web`, {
        body: { argv: ['sleep', '601'] },
      });
      const lacking = { argv: ['no-such-program'], restart: 'never' };
      await here.porthole.call('PUT', `/v1/sandbox/${own.id}/servers/lacking`, { body: lacking });
      const talk = { argv: ['sh', '-c', 'echo hello log; exec sleep 602'], name: 'talker' };
      await here.porthole.call('POST', `/v1/sandbox/${own.id}/processes`, { body: talk });
      const row = (name: string) => page.getByRole('row').filter({ hasText: name });
      await row('web').getByText('ready').waitFor();
      await row('long').getByText('running').waitFor();
      await page.getByText('program no-such-program not found: install it, or correct the command').waitFor();
      expect(await violations(page)).toEqual([]);
      await here.porthole.call('DELETE', `/v1/sandbox/${own.id}/servers/lacking`);
      await page.getByRole('button', { name: 'Log of talker' }).click();
      await page.getByRole('log', { name: 'Output of talker' }).getByText('hello log').waitFor();
      await page.getByRole('button', { name: 'Stop talker' }).click();
      await page.getByRole('button', { name: 'Log of talker' }).waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Stop web' }).click();
      await row('web').getByText('stopped').waitFor();
      await page.getByRole('button', { name: 'Start web' }).click();
      await row('web').getByText('ready').waitFor();
      await here.porthole.call('DELETE', `/v1/sandbox/${own.id}/servers/web`);
      const process = started.json<{ id: string }>().id;
      await here.porthole.call('DELETE', `/v1/sandbox/${own.id}/processes/${process}`);
      await page.getByText('No servers or processes').waitFor();
    });

    test('is reported as gone when it is deleted meanwhile', async () => {
      const made = await here.porthole.call('POST', '/v1/sandbox', {
        body: { name: 'brief', ttl_seconds: 600 },
      });
      const brief = made.json<{ id: string }>().id;
      await page.goto(`${own.way.url}/sandboxes/${brief}?pane=details`);
      await page.getByText('It is stopped in').waitFor();
      await page.getByText('Connected').waitFor();
      await here.porthole.call('DELETE', `/v1/sandbox/${brief}`);
      await page.getByText('There is no such sandbox').waitFor();
    });
  });

  test('sends requests to its own origin only, and its policy refuses nothing', () => {
    const policy = own.watched.problems.filter((problem) => /policy|refused/i.test(problem));
    expect({ policy, origins: [...own.watched.origins] }).toEqual({ policy: [], origins: [own.way.url] });
  });
});
