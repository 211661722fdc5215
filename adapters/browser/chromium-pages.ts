import { type ChildProcess, fork } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ownerOf } from '#adapters/local/drop-root.ts';
import { findProgram, isExecutable } from '#adapters/system/find-program.ts';
import { PortholeError } from '#base/errors.ts';
import type { PageBrowser, PageObservation, PageVisit } from '#core/pages/page-browser.ts';
import { FairQueue } from '#base/concurrency.ts';
import type { FromBrowser, ToBrowser } from './browser-process.ts';
import { USER } from './browser-user.ts';

export interface PageBrowserOptions {
  /** Path of the browser. @default a headless shell or browser in /usr/bin or on PATH */
  readonly program: string | undefined;
  /** Called with the reason when a browser fails. */
  readonly failed: (reason: string) => void;
  /** An unused browser ends after this time. @default 5 minutes, in milliseconds */
  readonly idleMs?: number;
  /** Pages open at a time; others wait. @default 4, for two cores */
  readonly pages?: number;
  /** Whether Chromium uses its own sandbox. @default where its user may make user namespaces */
  readonly isSandboxed?: boolean;
}

/** A look that has been sent to a browser process. */
interface Waiting {
  readonly asked: ChildProcess;
  readonly answer: PromiseWithResolvers<PageObservation>;
  /** Whether the process was killed because this look did not end. */
  isLate: boolean;
}

/** The process of a look ended, and another look may be the cause. */
class EndedByOther extends Error {}

const PAGES = 4;
const WAITING = 32;
const IDLE_MS = 300_000;
/**
 * Longer than the limit that the browser process enforces itself: past it, the process hangs and is
 * killed. In milliseconds.
 */
const MAX_LOOK_MS = 60_000;
const HEAP_MIB = 384;
/** Whole browsers, with windows. */
export const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** Without windows: two thirds of the memory, and a third of the time for a page. Found first. */
const HEADLESS_SHELLS = ['chromium-headless-shell', 'headless_shell', 'chrome-headless-shell'];

/** Drives this machine's Chromium in a process that starts with the first look. */
export function createPageBrowser(options: PageBrowserOptions): PageBrowser {
  const { program, failed, idleMs = IDLE_MS, pages = PAGES, isSandboxed } = options;
  // One owner never takes every place.
  const queue = new FairQueue({ perOwner: Math.max(1, pages - 1), total: pages, waiting: WAITING });
  const waiting = new Map<number, Waiting>();
  /** Processes that were ended on purpose. */
  const ended = new WeakSet<ChildProcess>();
  /** Processes, and when each has exited and its folder is removed. */
  const open = new Map<ChildProcess, Promise<unknown>>();
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last = 0;

  const start = (): ChildProcess => {
    // Holds browser profiles, which a killed browser leaves behind.
    const folder = mkdtempSync(join(tmpdir(), 'porthole-browser-'));
    const user = ownerOf('browser');
    if (user !== undefined) giveHome(folder, user);
    const started = fork(new URL('./browser-process.ts', import.meta.url), [], {
      execArgv: [
        `--max-old-space-size=${HEAP_MIB}`,
        // A larger one keeps up to 48 MiB of the last look.
        '--max-semi-space-size=2',
        '--optimize-for-size',
        // Several threads take longer for so little memory, and their processor time from the page.
        '--single-threaded-gc',
        '--disable-sigusr1',
        '--disable-warning=ExperimentalWarning',
      ],
      // Excludes the host's keys and tokens. glibc gives back what a look has freed (mallopt(3)).
      env: {
        ...environment(),
        ...(user !== undefined && { HOME: folder, XDG_RUNTIME_DIR: folder, [USER]: String(user) }),
        TMPDIR: folder,
        MALLOC_ARENA_MAX: '1',
        MALLOC_TRIM_THRESHOLD_: '65536',
      },
      // The host's own may be closed to the browser's user.
      cwd: folder,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    /** Process groups that a browser process which is killed leaves behind. */
    let browsers: readonly number[] = [];
    started.on('message', (message: FromBrowser) => {
      if ('browsers' in message) {
        browsers = message.browsers;
        return;
      }
      const answer = waiting.get(message.id)?.answer;
      if ('observation' in message) answer?.resolve(message.observation);
      else {
        failed(message.failure);
        answer?.reject(unusable());
      }
    });
    const end = (reason: string): void => {
      if (child === started) child = undefined;
      if (!ended.has(started)) failed(reason);
      for (const pid of browsers) killGroup(pid);
      for (const { asked, answer, isLate } of waiting.values()) {
        const isRepeated = !isLate && !ended.has(started);
        if (asked === started) answer.reject(isRepeated ? new EndedByOther() : unusable());
      }
      rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
        .catch((error: Error) => failed(error.message))
        .finally(() => {
          open.delete(started);
          closed.resolve();
        });
    };
    const closed = Promise.withResolvers<void>();
    open.set(started, closed.promise);
    started
      .once('exit', (code, signal) => end(`The browser process ended: ${signal ?? code}`))
      .once('error', (error) => end(error.message));
    started.unref();
    started.channel?.unref();
    return started;
  };

  const release = (unused: ChildProcess): void => {
    ended.add(unused);
    if (unused.connected) unused.disconnect();
  };

  /** The next look starts another process. */
  const rest = (): void => {
    if (child !== undefined) release(child);
    child = undefined;
  };

  const ask = async (
    asked: ChildProcess,
    visit: PageVisit,
    found: string,
    signal: AbortSignal | undefined,
  ): Promise<PageObservation> => {
    clearTimeout(idle);
    const send = (message: ToBrowser): void => void (asked.connected && asked.send(message));
    last += 1;
    const id = last;
    const answer = Promise.withResolvers<PageObservation>();
    const look: Waiting = { asked, answer, isLate: false };
    waiting.set(id, look);
    const limit = setTimeout(() => {
      look.isLate = true;
      asked.kill('SIGKILL');
    }, MAX_LOOK_MS);
    const abort = (): void => {
      send({ id, abort: true });
      answer.reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort, { once: true });
    try {
      send({ id, visit, program: found, isSandboxed });
      return await answer.promise;
    } finally {
      clearTimeout(limit);
      signal?.removeEventListener('abort', abort);
      waiting.delete(id);
      if (waiting.size === 0) idle = setTimeout(rest, idleMs).unref();
    }
  };

  /** A look is repeated in its own process if another one may have ended the shared process. */
  const askTwice = async (
    visit: PageVisit,
    found: string,
    signal: AbortSignal | undefined,
  ): Promise<PageObservation> => {
    try {
      return await ask((child ??= start()), visit, found, signal);
    } catch (error) {
      if (!(error instanceof EndedByOther)) throw error;
    }
    signal?.throwIfAborted();
    const own = start();
    try {
      return await ask(own, visit, found, signal);
    } catch (error) {
      throw error instanceof EndedByOther ? unusable() : error;
    } finally {
      release(own);
    }
  };

  const installed = (): string | undefined => {
    const found = program ?? findBrowser();
    // The browser process has another working folder.
    return found !== undefined && isExecutable(found) ? resolve(found) : undefined;
  };

  return {
    isInstalled: () => installed() !== undefined && isDriverInstalled(),
    async observe(visit, owner, signal) {
      const found = installed();
      if (found === undefined) throw missing(program);
      if (!isDriverInstalled()) throw driverMissing();
      const place = await queue.enter(owner, () => signal);
      if (place === undefined) {
        throw new PortholeError('too_many_looks', `${WAITING} looks wait already`, {
          remedy: 'try again once they are done.',
        });
      }
      try {
        signal?.throwIfAborted();
        return await askTwice(visit, found, signal);
      } finally {
        place.end();
      }
    },
    async close() {
      clearTimeout(idle);
      for (const process of open.keys()) {
        ended.add(process);
        // Only this keeps the event loop alive until it has exited.
        process.ref();
        process.kill('SIGKILL');
      }
      await Promise.all(open.values());
    },
  };
}

/** Root's home is closed to the browser's user. Chromium finds trusted authorities in `.pki`. */
function giveHome(folder: string, user: number): void {
  const authorities = join(process.env['HOME'] ?? '/root', '.pki');
  if (existsSync(authorities)) cpSync(authorities, join(folder, '.pki'), { recursive: true });
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const file of ['', ...files]) chownSync(join(folder, file), user, user);
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The installed headless shell, Chromium or Chrome. */
export function findBrowser(
  names: readonly string[] = [...HEADLESS_SHELLS, ...BROWSERS],
): string | undefined {
  return findProgram(names, ['/usr/bin']);
}

function environment(): NodeJS.ProcessEnv {
  const names = ['PATH', 'HOME', 'LANG', 'FONTCONFIG_PATH', 'XDG_RUNTIME_DIR'];
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}

function missing(program: string | undefined): PortholeError {
  const what =
    program === undefined
      ? 'No Chromium on this machine'
      : `PORTHOLE_BROWSER=${JSON.stringify(program)} is not a program that can be run`;
  return new PortholeError('browser_missing', what, {
    remedy:
      'install one (Debian: apt-get install chromium-headless-shell; macOS: brew install --cask chromium), or set PORTHOLE_BROWSER to its path.',
  });
}

/** It is an optional dependency, which the image of the functions leaves out. */
function isDriverInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve('playwright-core');
    return true;
  } catch {
    return false;
  }
}

function driverMissing(): PortholeError {
  return new PortholeError('browser_missing', 'playwright-core is not installed', {
    remedy: 'run npm ci without --omit=optional.',
  });
}

function unusable(): PortholeError {
  return new PortholeError('browser_failed', 'The browser ended before it answered', {
    remedy: 'try again.',
  });
}
