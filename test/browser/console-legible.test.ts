import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { PNG } from 'pngjs';
import { askForPreview, decide as decideByApi } from '#test/host/support/approvals.ts';
import { type MadeRun, makeRun } from '#test/host/support/runs.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { consoleSuite } from './support/console-suite.ts';

const SIZES = [
  { width: 1440, height: 900 },
  { width: 1280, height: 600 },
  { width: 768, height: 1024 },
  { width: 360, height: 640 },
];
/** Cards at a time. */
const SHOWN = 1;

/**
 * Scrolls through the card. `unread`: buttons that a pointer could press while the question of
 * their card was covered or out of view; `pressed`: cards with all buttons reachable.
 */
const SCROLL_THROUGH = `(() => {
  const list = document.querySelector('.dock');
  const cards = [...document.querySelectorAll('.dock .approval')];
  const hits = (element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const points = [[left + 2, top + 2], [right - 2, top + 2], [left + 2, bottom - 2], [right - 2, bottom - 2]];
    points.push([(left + right) / 2, (top + bottom) / 2]);
    return points.map(([x, y]) => element.contains(document.elementFromPoint(x, y)));
  };
  const unread = [];
  const reached = new Set();
  for (let at = 0; ; at += 5) {
    list.scrollTop = at;
    for (const card of cards) {
      const question = card.querySelector('h3');
      for (const button of card.querySelectorAll('.decision button')) {
        if (!hits(button).includes(true)) continue;
        reached.add(button);
        if (hits(question).includes(false)) unread.push([at, question.textContent, button.textContent]);
      }
    }
    if (list.scrollTop < at) break;
  }
  list.scrollTop = 0;
  const all = (card) => [...card.querySelectorAll('.decision button')].every((button) => reached.has(button));
  return { unread, pressed: cards.filter(all).length };
})()`;

suite('what the console shows', chromiumMissing, () => {
  const here = consoleSuite();
  let page: Page;
  let run: MadeRun;
  let asking: ReturnType<typeof askForPreview>[] = [];
  beforeAll(async () => {
    run = await makeRun(here.porthole, undefined, { title: 'Rebuild the pricing page of the shop' });
    page = await here.context.newPage();
  });
  afterEach(async () => {
    const { approvals } = (await here.porthole.call('GET', '/api/approvals')).json<{
      approvals: { request_id: string }[];
    }>();
    for (const { request_id } of approvals) {
      await decideByApi(here.porthole, run.runId, { request_id, decision: 'deny' });
    }
    await Promise.all(asking);
    asking = [];
  });

  test.each([1, 2, 5])(
    'shows each question before its buttons can be pressed, with %i requests',
    async (count) => {
      await page.goto(`${here.porthole.host.url}/sandboxes`);
      for (let at = 0; at < count; at += 1) {
        const port = 4500 + at;
        asking.push(askForPreview(here.porthole, run.runId, run.agentToken, { target_port: port }));
        const card = page.getByRole('article', { name: `Open a preview of port ${port}?` });
        if (at < SHOWN) await card.getByText('Nothing listens').waitFor();
      }
      for (const size of SIZES) {
        await page.setViewportSize(size);
        await page.locator('.decision[data-armed="true"]').first().waitFor();
        const { unread, pressed } = (await page.evaluate(SCROLL_THROUGH)) as {
          unread: unknown[];
          pressed: number;
        };
        expect([size, unread.slice(0, 5), pressed]).toEqual([size, [], Math.min(count, SHOWN)]);
      }
    },
  );

  test('shows an app that adapts to a dark scheme with a contrast, in dark mode', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    const html = '<style>:root{color-scheme:light dark}</style><h1 style=font-size:99px>Dark</h1>';
    const program = `require('http').createServer((_, r) => r.setHeader('content-type', 'text/html').end('${html}')).listen(4600)`;
    await here.porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/servers/dark`, {
      body: { argv: ['node', '-e', program], port: 4600 },
    });
    await here.porthole.call('POST', `/api/runs/${run.runId}/sandbox/port-forward`, {
      body: { target_port: 4600 },
    });
    await page.goto(`${here.porthole.host.url}/runs/${run.runId}`);
    const heading = page.frameLocator('iframe').getByRole('heading', { name: 'Dark' });
    await heading.waitFor();
    const { data } = PNG.sync.read(await heading.screenshot());
    const greens = [...data].filter((_, at) => at % 4 === 1);
    expect(Math.max(...new Set(greens)) - Math.min(...new Set(greens))).toBeGreaterThan(150);
  });
});
