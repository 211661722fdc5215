/**
 * The process that runs Chromium. DevTools traffic of a page can fill the memory and the event loop
 * of this process, but not of the host. Exits when the host does.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type Browser, chromium } from 'playwright-core';
import type { Interruption, PageObservation, PageVisit, Viewport } from '#core/pages/page-browser.ts';
import { axeSource } from './accessibility.ts';
import { canSandbox, leaveRoot } from './browser-user.ts';
import { whyUnresponsive } from './page-recorder.ts';
import { isSameViewport, preparePage, type PreparedPage, warmUp } from './prepared-page.ts';
import { visitPage } from './visit-page.ts';

/** The browser to run, and whether with its own sandbox. */
interface Program {
  readonly program: string;
  /** @default where its user may make user namespaces */
  readonly isSandboxed: boolean | undefined;
}

export type ToBrowser =
  | ({ readonly id: number; readonly visit: PageVisit } & Program)
  | { readonly id: number; readonly abort: true };

export type FromBrowser =
  | { readonly id: number; readonly observation: PageObservation }
  | { readonly id: number; readonly failure: string }
  /** Process groups of all Chromium browsers that run now. */
  | { readonly browsers: readonly number[] };

/** Memory limit of a renderer, in bytes. An ordinary page takes about 100 MiB. */
const MAX_RENDERER_BYTES = 512 * 1_048_576;
const WATCH_MS = 200;
const PAGE_SIZE = 4_096;

/** After these, the page may still disturb its browser: the next look gets another one. */
const RETIRING: readonly (Interruption | null)[] = ['unresponsive', 'no_answer', 'console_flood'];
/** A page holds a browser that answers later than this, in milliseconds. */
const STUCK_MS = 6_000;
/** A further look waits. */
const MAX_CLOSING = 2;
/** Both visits together end before the host kills this process, in milliseconds. */
const MAX_BEFORE_REPEAT_MS = 18_000;

const DISABLED = [
  'WebRtcHideLocalIpsWithMdns',
  'PreloadMediaEngagementData',
  // A spare renderer belongs to one context, and no other context can use it.
  'SpareRendererForSitePerProcess',
  // Pages of the address bar: a renderer of 80 MiB for each context, in a window that is not shown.
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
].join(',');

/** A browser, and the looks that use it. */
interface Launched {
  readonly browser: Promise<Browser>;
  users: number;
  /** Number of looks that have ended. */
  gone: number;
  /** For the next look. */
  next: Promise<PreparedPage | undefined> | undefined;
  /** Whether it has been killed, or has crashed. */
  isEnded: boolean;
}

// Reads its file while this process still can.
axeSource();
leaveRoot();
const sandboxable = canSandbox();

let current: Launched | undefined;
const running = new Map<number, AbortController>();
/** Pages that close after their look was answered. */
const closing = new Set<Promise<void>>();
/** Process group of each browser. Its leader may be a script that starts the browser. */
const groups = new Map<Browser, number>();

function begin(program: Program): Launched {
  const begun: Launched = { browser: launch(program), users: 0, gone: 0, next: undefined, isEnded: false };
  const forget = (): void => {
    begun.isEnded = true;
    if (current === begun) current = undefined;
  };
  begun.browser.catch(forget);
  const follow = async (): Promise<void> => {
    const browser = await begun.browser;
    browser.once('disconnected', forget);
    await watch(begun, browser);
  };
  follow().catch(() => undefined);
  return begun;
}

async function launch(wanted: Program): Promise<Browser> {
  const { program } = wanted;
  const isSandboxed = wanted.isSandboxed ?? (await sandboxable);
  return chromium.launch({
    executablePath: program,
    // The host decides when this process ends.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    chromiumSandbox: isSandboxed,
    args: [
      '--disable-gpu',
      // As a process it has no sandbox either, and takes 15 MiB.
      '--enable-features=NetworkServiceInProcess2',
      // Without Chromium's sandbox these processes separate nothing, and take 35 MiB.
      ...(isSandboxed ? [] : ['--in-process-gpu', '--no-zygote']),
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--disable-features=${DISABLED}`,
      // WebRTC would send UDP past the proxy.
      '--webrtc-ip-handling-policy=disable_non_proxied_udp',
      // Its name in older versions.
      '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
      // The proxy resolves names. Prefetches of DNS would ask a resolver without it.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
}

/** SIGKILL: a browser that a page holds does not read the command to close. */
async function end(launched: Launched): Promise<void> {
  launched.isEnded = true;
  try {
    const ended = await launched.browser;
    const group = groups.get(ended);
    if (group !== undefined) killGroup(group);
    await ended.close();
  } catch {
    // It has already exited.
  }
}

/** Kills Chromium with its child processes: Playwright starts it as a process group. */
function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // It has already exited.
  }
}

/**
 * Kills renderers over the memory limit, which affects only their page, and the browser when it no
 * longer answers: a page can flood it with messages.
 */
async function watch(launched: Launched, browser: Browser): Promise<void> {
  const cdp = await browser.newBrowserCDPSession();
  const processes = async () => (await cdp.send('SystemInfo.getProcessInfo')).processInfo;
  const own = (await processes()).find(({ type }) => type === 'browser');
  const report = (): void => send({ browsers: [...groups.values()] });
  if (own !== undefined) groups.set(browser, await groupOf(own.id));
  report();
  browser.once('disconnected', () => {
    groups.delete(browser);
    report();
  });
  while (browser.isConnected()) {
    await pause(WATCH_MS, undefined, { ref: false });
    if (launched.users === 0) continue;
    const found = await Promise.race([processes(), pause(STUCK_MS, undefined, { ref: false })]);
    if (found === undefined) return end(launched);
    if (process.platform !== 'linux') continue;
    for (const { type, id } of found) {
      if (type === 'renderer' && (await residentBytes(id)) > MAX_RENDERER_BYTES) process.kill(id, 'SIGKILL');
    }
  }
}

/** The process itself leads one where the kernel does not say. */
async function groupOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The name, in parentheses, may contain spaces; state, parent and group follow it.
  const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
  return group > 1 ? group : pid;
}

/** 0 once the process has ended. */
async function residentBytes(pid: number): Promise<number> {
  const sizes = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '');
  return Number(sizes.split(' ')[1] ?? 0) * PAGE_SIZE;
}

/**
 * Visits the page in the shared browser. If that fails or does not respond, another page may be the
 * cause: the visit is repeated in a browser that no other look uses.
 */
async function observe(visit: PageVisit, program: Program, signal: AbortSignal): Promise<PageObservation> {
  const began = performance.now();
  const used = (current ??= begin(program));
  used.users += 1;
  const { gone } = used;
  let page: PreparedPage | undefined;
  try {
    page = await takePage(used, visit.viewport);
    const seen = await visitPage(page, visit, signal);
    if (current === used && RETIRING.includes(seen.interruption)) current = undefined;
    const isInTime = performance.now() - began < MAX_BEFORE_REPEAT_MS;
    const wasAlone = used.users === 1 && used.gone === gone;
    const mayBeOther = seen.interruption === 'unresponsive' && !wasAlone;
    const isSilent = seen.interruption === 'no_answer';
    if (!used.isEnded && !mayBeOther && !isSilent) return seen;
    // Nothing says which page is the cause.
    if (!used.isEnded && !isInTime) return wasAlone ? seen : { ...seen, interruption: null };
  } catch (error) {
    if (current === used) current = undefined;
    if (signal.aborted) throw error;
  } finally {
    track(leave(used, page, visit));
  }
  const own = begin(program);
  own.users = 1;
  try {
    const seen = await visitPage(await takePage(own, visit.viewport), visit, signal, true);
    const held = { navigationError: null, interruption: whyUnresponsive(seen.console) };
    return own.isEnded ? { ...seen, ...held } : seen;
  } finally {
    track(end(own));
  }
}

async function takePage(launched: Launched, viewport: Viewport): Promise<PreparedPage> {
  const { next } = launched;
  launched.next = undefined;
  const prepared = await next;
  if (prepared !== undefined) {
    if (isSameViewport(prepared.viewport, viewport) && prepared.isUsable()) return prepared;
    void prepared.close();
  }
  return preparePage(await launched.browser, viewport);
}

/** Closes the page of a look, and then prepares the next one, or ends the browser. */
async function leave(used: Launched, page: PreparedPage | undefined, visit: PageVisit): Promise<void> {
  await page?.close();
  used.users -= 1;
  used.gone += 1;
  if (current !== used) {
    if (used.users === 0) await end(used);
  } else if (page !== undefined) {
    used.next ??= prepareNext(used, visit);
  }
}

/** The next look is most likely like the last one. */
async function prepareNext(
  used: Launched,
  { viewport, picture }: PageVisit,
): Promise<PreparedPage | undefined> {
  try {
    const prepared = await preparePage(await used.browser, viewport);
    // The next visit ends the warm-up.
    if (picture !== undefined) warmUp(prepared).catch(() => undefined);
    return prepared;
  } catch {
    return undefined;
  }
}

/** The answer does not wait for it. */
function track(end: Promise<void>): void {
  closing.add(end);
  void end.finally(() => closing.delete(end));
}

function send(message: FromBrowser): void {
  if (process.connected) process.send?.(message);
}

async function answer(id: number, visit: PageVisit, program: Program): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  let reply: FromBrowser;
  try {
    // A page that hangs closes after seconds: many would exceed the limit of open pages.
    while (closing.size >= MAX_CLOSING) await Promise.race(closing);
    reply = { id, observation: await observe(visit, program, controller.signal) };
  } catch (error) {
    reply = { id, failure: (error as Error).message.slice(0, 2_000) };
  } finally {
    running.delete(id);
  }
  send(reply);
}

process.on('message', (message: ToBrowser) => {
  if ('abort' in message) running.get(message.id)?.abort();
  else void answer(message.id, message.visit, message);
});
// Chromium exits when its pipe to this process closes, unless a page holds it.
process.once('disconnect', () => {
  for (const group of groups.values()) killGroup(group);
  process.exit(0);
});
process.on('SIGINT', () => undefined);
