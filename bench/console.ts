import type { Browser, Page } from 'playwright-core';
import { makeRun } from '#test/host/support/runs.ts';
import { ensureConsoleBuilt } from '#test/browser/support/console-fixture.ts';
import { launchChromium } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type BenchResult, estimate, single } from './measure.ts';

export interface ConsoleBenchOptions {
  readonly rounds?: number;
  readonly runs?: number;
  readonly events?: number;
  /** Frames of scrolling. */
  readonly frames?: number;
}

const SANDBOXES = 200;
const MAX_LCP_MS = 1_000;
const MAX_INTERACTION_MS = 50;
/** A frame of 60 per second, with the jitter of its clock. */
const FRAME_MS = 17.5;

/** Largest contentful paint, without layout shifts of later content. */
const LCP = `new Promise((resolve) => {
  let at = 0;
  new PerformanceObserver((list) => { at = list.getEntries().at(-1).startTime; })
    .observe({ type: 'largest-contentful-paint', buffered: true });
  setTimeout(() => resolve(at), 500);
})`;

/** Collects the longest event since the last call, to its next paint. 0: below 16 ms. */
const WATCH_EVENTS = `(() => {
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries())
      if (interactionId > 0) window.longest = Math.max(window.longest, duration);
  }).observe({ type: 'event', durationThreshold: 16, buffered: false });
})()`;
const LONGEST = `new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => {
  resolve(window.longest);
  window.longest = 0;
}, 100)))`;

/** Scrolls to the end and back by one notch a frame, and reports the share of late frames. */
const SCROLL = (frames: number) => `new Promise((resolve) => {
  const area = document.scrollingElement;
  const gaps = [];
  let before = performance.now();
  let way = 1;
  const step = (now) => {
    gaps.push(now - before);
    before = now;
    area.scrollTop += 40 * way;
    if (area.scrollTop + area.clientHeight >= area.scrollHeight - 1) way = -1;
    if (gaps.length < ${frames}) requestAnimationFrame(step);
    else resolve({ gaps: gaps.slice(5), height: area.scrollHeight });
  };
  requestAnimationFrame(step);
})`;

/** The console with many runs, many events and many sandboxes. */
export async function benchConsole({
  rounds = 9,
  runs = 1_000,
  events = 10_000,
  frames = 300,
}: ConsoleBenchOptions = {}): Promise<BenchResult[]> {
  ensureConsoleBuilt();
  const porthole = await startTestHost();
  const browser = await launchChromium();
  try {
    const runId = await fill(porthole, runs, events);
    const url = porthole.host.url;
    const list = await loads(browser, `${url}/`, rounds, (page) =>
      page.getByRole('link', { name: 'Run number' }).first().waitFor(),
    );
    const run = await loads(browser, `${url}/runs/${runId}?drawer=timeline`, rounds, (page) =>
      page.locator('.timeline li').nth(50).waitFor(),
    );
    const interactions = await interact(browser, url, runId, rounds);
    const gaps = await scroll(browser, url, frames);
    return [
      single(`largest contentful paint of ${runs} runs`, estimate(list).median, 'ms', MAX_LCP_MS),
      single(`largest contentful paint of a run of ${events} events`, estimate(run).median, 'ms', MAX_LCP_MS),
      ...[...interactions].map(([name, figures]) =>
        single(name, estimate(figures).median, 'ms', MAX_INTERACTION_MS),
      ),
      single(`frame while ${SANDBOXES} sandboxes scroll`, estimate(gaps).median, 'ms', FRAME_MS, {
        'late frames, share': gaps.filter((each) => each > 2 * FRAME_MS).length / gaps.length,
      }),
    ];
  } finally {
    await browser.close();
    await porthole.end();
  }
}

/** @returns the run with the events */
async function fill(porthole: TestHost, runs: number, events: number): Promise<string> {
  const { runId } = await makeRun(porthole, undefined, { title: 'Run number 0' });
  const { records } = porthole.host.services;
  const made = await records.runs.get(runId);
  if (made === undefined) throw new Error('the run is not there');
  for (let at = 1; at < runs; at += 1) {
    await records.runs.create({ ...made, id: `${runId}-${at}`, title: `Run number ${at}` });
  }
  for (let from = 0; from < events; from += 500) {
    const batch = Array.from({ length: Math.min(500, events - from) }, (_, at) => ({
      type: 'preview.kept' as const,
      key: `event-${from + at}`,
      data: { target_port: 3_000 + ((from + at) % 6_000) },
    }));
    await records.timeline.append(runId, batch, new Date());
  }
  return runId;
}

/** Largest contentful paints, each of a browser context without a cache. */
async function loads(
  browser: Browser,
  address: string,
  rounds: number,
  whole: (page: Page) => Promise<unknown>,
): Promise<number[]> {
  const figures: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.goto(address);
    await whole(page);
    const at = (await page.evaluate(LCP)) as number;
    figures.push(at);
    await context.close();
  }
  return figures;
}

async function interact(
  browser: Browser,
  url: string,
  runId: string,
  rounds: number,
): Promise<ReadonlyMap<string, number[]>> {
  const found = new Map<string, number[]>();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const measure = async (name: string, act: () => Promise<unknown>) => {
    await page.evaluate(LONGEST);
    await act();
    const longest = (await page.evaluate(LONGEST)) as number;
    found.set(name, [...(found.get(name) ?? []), longest]);
  };
  for (let round = 0; round < rounds; round += 1) {
    await page.goto(`${url}/`);
    await page.getByRole('link', { name: 'Run number' }).first().waitFor();
    await page.evaluate(WATCH_EVENTS);
    await page.getByRole('searchbox', { name: 'Find' }).focus();
    await measure('typing into the search of runs', () => page.keyboard.type('1'));
    await page.keyboard.press('Backspace');
    await measure('opening the commands', () => page.keyboard.press('ControlOrMeta+k'));
    const commands = page.getByRole('dialog', { name: 'Commands' });
    await commands.waitFor();
    await page.keyboard.press('Escape');
    await commands.waitFor({ state: 'detached' });
    await measure('selecting all shown runs', () =>
      page
        .locator('thead input')
        .first()
        .evaluate((box) => (box as unknown as { click(): void }).click()),
    );
    await measure('opening a run', () => page.getByRole('link', { name: 'Run number' }).first().click());
    await page.goto(`${url}/runs/${runId}?drawer=timeline`);
    await page.locator('.timeline li').nth(50).waitFor();
    await page.evaluate(WATCH_EVENTS);
    const search = page.getByRole('searchbox', { name: 'Find in events' });
    await measure('focusing the search of events', () => search.click());
    await measure('typing into the search of events', () => page.keyboard.press('4'));
    await measure('typing more of it', () => page.keyboard.press('2'));
    await measure('opening a pane', () =>
      page.getByRole('button', { name: 'Terminal', exact: true }).click(),
    );
  }
  await page.close();
  return found;
}

async function scroll(browser: Browser, url: string, frames: number): Promise<number[]> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${url}/sandboxes`);
  const answer = await (await page.request.get(`${url}/v1/sandbox?limit=1`)).json();
  const [one] = (answer as { sandboxes: Record<string, unknown>[] }).sandboxes;
  const all = Array.from({ length: SANDBOXES }, (_, at) => ({
    ...one,
    id: `sandbox${String(at).padStart(4, '0')}`,
    name: `sandbox-${at}`,
  }));
  await page.route('**/v1/sandbox?*', (route) =>
    route.fulfill({ json: { sandboxes: all, next: null, total: SANDBOXES } }),
  );
  await page.reload();
  await page.getByRole('link', { name: 'sandbox-199' }).waitFor();
  const { gaps } = (await page.evaluate(SCROLL(frames))) as { gaps: number[] };
  await page.close();
  return gaps;
}
