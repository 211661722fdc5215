/**
 * The process that runs Chromium. DevTools traffic of a page can fill the memory and the event loop
 * of this process, but not of the host. Exits when the host does.
 */
import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import type { Interruption, PageObservation, PageVisit } from '#core/pages/page-browser.ts';
import { visitPage } from './visit-page.ts';

export type ToBrowser =
  | { readonly id: number; readonly visit: PageVisit; readonly program: string }
  | { readonly id: number; readonly abort: true };

export type FromBrowser =
  | { readonly id: number; readonly observation: PageObservation }
  | { readonly id: number; readonly failure: string };

/** Memory limit of a renderer, in bytes. An ordinary page takes about 100 MiB. */
const LARGEST_RENDERER = 512 * 1_048_576;
const WATCH_MS = 200;
const PAGE_SIZE = 4_096;

/** A page that floods the browser's pipe delays others: the next look gets another browser. */
const RETIRING: readonly (Interruption | null)[] = ['unresponsive', 'console_flood'];

/** A browser, and the looks that use it. */
interface Launched {
  readonly browser: Promise<Browser>;
  users: number;
}

let current: Launched | undefined;
const running = new Map<number, AbortController>();
const pids = new WeakMap<Browser, number>();

function begin(program: string): Launched {
  const begun: Launched = { browser: launch(program), users: 0 };
  const forget = (): void => {
    if (current === begun) current = undefined;
  };
  begun.browser.then((browser) => void browser.once('disconnected', forget), forget);
  return begun;
}

async function launch(program: string): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({
    executablePath: program,
    // The host decides when this process ends.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    // Chromium's own sandbox refuses to run as root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-features=WebRtcHideLocalIpsWithMdns,PreloadMediaEngagementData',
      // WebRTC would send UDP past the proxy.
      '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    ],
  });
  watchMemory(browser).catch(() => undefined);
  return browser;
}

/** SIGKILL: a browser with a full pipe does not read the command to close. */
async function end({ browser }: Launched): Promise<void> {
  try {
    const ended = await browser;
    const pid = pids.get(ended);
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    await ended.close();
  } catch {
    // It has already exited.
  }
}

/** Kills renderers over the memory limit. This affects only their page, which reports a crash. */
async function watchMemory(browser: Browser): Promise<void> {
  const cdp = await browser.newBrowserCDPSession();
  const started = await cdp.send('SystemInfo.getProcessInfo');
  const own = started.processInfo.find(({ type }) => type === 'browser');
  if (own !== undefined) pids.set(browser, own.id);
  if (process.platform !== 'linux') return;
  const timer = setInterval(() => {
    if (running.size === 0) return;
    (async () => {
      const { processInfo } = await cdp.send('SystemInfo.getProcessInfo');
      for (const { type, id } of processInfo) {
        if (type !== 'renderer') continue;
        const [, pages = '0'] = (await readFile(`/proc/${id}/statm`, 'utf8')).split(' ');
        if (Number(pages) * PAGE_SIZE > LARGEST_RENDERER) process.kill(id, 'SIGKILL');
      }
    })().catch(() => undefined);
  }, WATCH_MS);
  browser.once('disconnected', () => clearInterval(timer));
}

async function answer(id: number, visit: PageVisit, program: string): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  let reply: FromBrowser;
  const used = (current ??= begin(program));
  used.users += 1;
  try {
    const browser = await used.browser;
    const observation = await visitPage(browser, visit, controller.signal);
    if (current === used && RETIRING.includes(observation.interruption)) current = undefined;
    reply = { id, observation };
  } catch (error) {
    if (current === used) current = undefined;
    reply = { id, failure: (error as Error).message.slice(0, 2_000) };
  } finally {
    running.delete(id);
    used.users -= 1;
    if (current !== used && used.users === 0) void end(used);
  }
  process.send?.(reply);
}

process.on('message', (message: ToBrowser) => {
  if ('abort' in message) running.get(message.id)?.abort();
  else void answer(message.id, message.visit, message.program);
});
// Chromium exits when its pipe to this process closes.
process.once('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined);
