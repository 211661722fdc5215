import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createPageBrowser } from '#adapters/browser/chromium-pages.ts';
import { DESKTOP } from '#core/pages/check-preview.ts';
import { launchChromium } from '#test/support/chromium.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { startViteProject } from '#test/support/vite-project.ts';
import { atMost, type BenchResult, compare, interleave, single, timed } from './measure.ts';

export interface LooksBenchOptions {
  readonly warmUp?: number;
  readonly rounds?: number;
  /** Looks at once. */
  readonly looks?: number;
}

/** Goal for the memory of a browser that nothing uses, in MiB. */
const MAX_IDLE_MIB = 300;
/** Instead of five minutes, in milliseconds. */
const IDLE_MS = 3_000;
/** Between two figures: an agent edits between two checks. In milliseconds. */
const REST_MS = 700;

/**
 * Looks and checks of a Vite app beside its load in a bare Chromium, many looks at once, and the
 * memory of a browser that is not used.
 *
 * `load` is what a person does: a new tab in a fresh context of a browser that runs, and the same
 * URL through the same gateway, until the load event. `check` and `look` are whole requests of the
 * API: the same load, the wait for a quiet page, what is measured, and the answer. Porthole
 * prepares the page of the next look between two of them; `navigation`, which is `load` without the
 * new tab, has no goal.
 */
export async function benchLooks({
  warmUp = 2,
  rounds = 25,
  looks = 20,
}: LooksBenchOptions = {}): Promise<BenchResult[]> {
  // Measured first: other browsers would share its memory.
  const idle = await benchIdle();
  const porthole = await startTestHost();
  const browser = await launchChromium();
  try {
    const { url, run, port } = await startViteProject(porthole);
    const post = (what: 'look' | 'check') =>
      timed(async () => {
        const path = `/api/runs/${run.run_id}/previews/${port}/${what}`;
        const answer = await porthole.call('POST', path, { body: {} });
        if (answer.json()['result'] !== 'works') throw new Error(answer.text.slice(0, 1_000));
      });
    const rested =
      (arm: () => Promise<number>): (() => Promise<number>) =>
      async () => {
        await pause(REST_MS);
        return arm();
      };
    const navigation: number[] = [];
    const arms = {
      load: rested(async () => {
        const began = performance.now();
        const context = await browser.newContext();
        try {
          const page = await context.newPage();
          const opened = performance.now();
          await page.goto(url);
          const loaded = performance.now();
          navigation.push(loaded - opened);
          return loaded - began;
        } finally {
          await context.close();
        }
      }),
      check: rested(post('check')),
      look: rested(post('look')),
    };
    await interleave(arms, warmUp);
    navigation.length = 0;
    const figures = await interleave(arms, rounds);
    const atOnce = await Promise.all(Array.from({ length: looks }, post('look')));
    return [
      compare('look / load of the page in a bare Chromium', figures, ['look', 'load'], 'ms', atMost(1.3)),
      compare('check / load of the page in a bare Chromium', figures, ['check', 'load'], 'ms', atMost(1.15)),
      compare('check / navigation alone', { ...figures, navigation }, ['check', 'navigation'], 'ms'),
      compare('look / navigation alone', { ...figures, navigation }, ['look', 'navigation'], 'ms'),
      single(`${looks} looks at once, the last answer`, Math.max(...atOnce), 'ms', 20_000),
      idle,
    ];
  } finally {
    await browser.close();
    await porthole.end();
  }
}

/** The browser of looks while nothing uses it. Throws if it does not end after its idle time. */
async function benchIdle(): Promise<BenchResult> {
  const server = createServer((_, response) => response.end('<h1>Orders</h1>')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const fail = (reason: string): void => {
    throw new Error(reason);
  };
  const before = new Set(await descendants(process.pid));
  const pages = createPageBrowser({ program: undefined, failed: fail, idleMs: IDLE_MS });
  try {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const visit = { origin, path: '/', siblings: [], viewport: DESKTOP, steps: [], waitFor: undefined };
    await Promise.all(
      Array.from({ length: 4 }, (_, at) =>
        pages.observe({ ...visit, picture: { fullPage: false } }, `owner ${at}`),
      ),
    );
    // Renderers of closed pages end.
    await pause(IDLE_MS / 3);
    const used = (await descendants(process.pid)).filter((pid) => !before.has(pid));
    const mebibytes = (await Promise.all(used.map(proportionalMebibytes))).reduce(
      (sum, each) => sum + each,
      0,
    );
    for (const until = performance.now() + IDLE_MS * 10; ; await pause(100)) {
      const left = (await descendants(process.pid)).filter((pid) => used.includes(pid));
      if (left.length === 0) break;
      if (performance.now() > until) throw new Error(`${left.length} processes of an unused browser remain`);
    }
    return single('memory of an unused browser (0 after its idle time)', mebibytes, 'MiB', MAX_IDLE_MIB);
  } finally {
    await pages.close();
    server.close();
  }
}

async function descendants(pid: number): Promise<number[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => ''));
  const children = (await Promise.all(lists)).join(' ').split(' ').filter(Boolean).map(Number);
  return [...children, ...(await Promise.all(children.map(descendants))).flat()];
}

/** Proportional set size in MiB (Linux); 0 for an ended process. */
async function proportionalMebibytes(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) / 1_024;
}
