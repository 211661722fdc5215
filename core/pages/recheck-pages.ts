import { PortholeError } from '#base/errors.ts';
import { watchWorkspace } from '../files/guest-files.ts';
import { listPreviews } from '../previews/live-previews.ts';
import { streamEvents } from '../runs/event-log.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { RunEvent } from '../runs/timeline.ts';
import { turnOwnerOf } from '../sandboxes/turn-owners.ts';
import { later, type WakingClock } from '#base/clock-and-ids.ts';
import { FairQueue } from '#base/concurrency.ts';
import { FollowedTasks } from '#base/followed-tasks.ts';
import type { PageResult } from './page-cause.ts';
import type { LookAtPageDeps } from './look-at-page.ts';
import { pageLooked } from './page-report.ts';
import { quietChanges } from './quiet-changes.ts';

const WORKSPACE = '/workspace';
/** Pause after a lost watch, e.g. of a stopped sandbox, in milliseconds. */
const AGAIN_MS = 5_000;
/** Changes read per second: code in a sandbox may cause any number. */
const MAX_PER_SECOND = 500;
/** Maximum pages that are checked after one change. */
const MAX_PAGES = 4;
/** Fewer than the browser opens at a time: checks that someone waits for come first. */
const LIMITS = { perOwner: 1, total: 2, waiting: 4 };
const QUIET_POLL_MS = 60_000;
const NEVER = new Date(8_640_000_000_000_000);

/** Folders that tools and servers write, and that no page is made from. */
const SKIPPED = [
  'node_modules',
  '__pycache__',
  'target',
  'coverage',
  'tmp',
  'log',
  'logs',
  'venv',
  '.venv',
  '.git',
  '.next',
  '.nuxt',
  '.svelte-kit',
  '.astro',
  '.cache',
];
const WRITTEN = new RegExp(
  String.raw`(?:^|\/)(?:\.[^/]+|${SKIPPED.filter((name) => !name.startsWith('.')).join('|')})\/` +
    String.raw`|\.(?:log|pid|lock|sqlite3?(?:-\w+)?|db(?:-\w+)?|pyc|tmp|swp)$|~$`,
);

export interface RecheckDeps extends LookAtPageDeps {
  readonly clock: WakingClock;
}

/**
 * While a person follows a run, checks its previews again after each change of a file or a server:
 * those that were checked before, so that no page is opened unasked. Records a result only if it
 * differs from the last one.
 */
export class PageRechecker {
  readonly #deps: RecheckDeps;
  readonly #tasks: FollowedTasks;
  readonly #queue = new FairQueue(LIMITS);

  constructor(deps: RecheckDeps, failed: (runId: string, error: unknown) => void) {
    this.#deps = deps;
    this.#tasks = new FollowedTasks(failed);
  }

  /** Until the returned function is called. All followers of a run share its checks. */
  follow(run: RunRecord): () => void {
    if (run.status === 'completed' || !this.#deps.pages.isInstalled()) return () => undefined;
    return this.#tasks.follow(run.id, (signal) => this.#recheck(run, signal));
  }

  /** Whether something changes, and then nothing more for a second, before the signal aborts. */
  async awaitChange(run: RunRecord, signal: AbortSignal): Promise<boolean> {
    const pages = new KnownPages();
    for await (const _ of quietChanges(this.#deps.clock, this.#changesOf(run, pages), signal)) return true;
    return false;
  }

  close(): Promise<void> {
    return this.#tasks.close();
  }

  async #recheck(run: RunRecord, signal: AbortSignal): Promise<void> {
    const { user, org } = run.owner;
    const { checkStartPage } = await import('./check-preview.ts');
    const pages = new KnownPages();
    for await (const _ of quietChanges(this.#deps.clock, this.#changesOf(run, pages), signal)) {
      const place = await this.#queue.enter(JSON.stringify([org, user]), () => signal);
      // Several runs of this owner wait already.
      if (place === undefined) continue;
      try {
        const live = await listPreviews(this.#deps, run, signal);
        const ports = live.map(({ targetPort }) => targetPort).filter((port) => pages.isChecked(port));
        for (const port of ports.slice(0, MAX_PAGES)) {
          const isKnown = (result: PageResult) => pages.isKnown(port, result);
          await checkStartPage(this.#deps, { run, port, isKnown }, signal);
        }
      } finally {
        place.end();
      }
    }
  }

  #changesOf(run: RunRecord, pages: KnownPages) {
    return (signal: AbortSignal) => [
      changedFiles(this.#deps, run.sandboxId, signal),
      changedServers(this.#deps, run, pages, signal),
    ];
  }
}

/** Paths of changed files, over stops and resumes of the sandbox. */
async function* changedFiles(
  { sandboxes, clock }: Pick<RecheckDeps, 'sandboxes' | 'clock'>,
  sandboxId: string,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const wanted = { folder: WORKSPACE, recursive: true, skipped: SKIPPED };
  let [second, count] = [0, 0];
  while (!signal.aborted) {
    try {
      for await (const event of watchWorkspace(sandboxes, sandboxId, wanted, signal)) {
        const now = Math.floor(clock.now().getTime() / 1_000);
        [second, count] = now === second ? [second, count + 1] : [now, 1];
        if (count >= MAX_PER_SECOND) await clock.until(new Date((now + 1) * 1_000), signal);
        if (event === undefined || event.type === 'ready' || event.type === 'limited') continue;
        if (event.stat?.type !== 'directory' && !WRITTEN.test(event.path)) yield event.path;
      }
    } catch (error) {
      if (signal.aborted) return;
      // The sandbox is stopped, or ends.
      if (!(error instanceof PortholeError)) throw error;
    }
    await clock.until(later(clock, AGAIN_MS), signal);
  }
}

/** Servers and ports that began to serve since the start. Remembers the pages of the run. */
async function* changedServers(
  { records, clock }: Pick<RecheckDeps, 'records' | 'clock'>,
  run: RunRecord,
  pages: KnownPages,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const began = clock.now();
  const options = {
    id: run.id,
    turnOwner: turnOwnerOf(run.sandboxId),
    after: 0,
    quietMs: QUIET_POLL_MS,
    until: NEVER,
    signals: [signal],
  };
  for await (const event of streamEvents(records.timeline, clock, options)) {
    if (event === undefined) continue;
    pages.take(event);
    const { type, at, data } = event;
    if (at < began) continue;
    if (type === 'port.listening') yield `port ${data['port']}`;
    if (type === 'server.changed' && data['state'] === 'ready') yield `server ${data['server']}`;
  }
}

/** The ports with a checked page, and the last result of each, from the timeline. */
class KnownPages {
  readonly #checked = new Set<number>();
  readonly #results = new Map<number, string>();

  take({ type, data }: RunEvent): void {
    const port = Number(data['target_port'] ?? data['port']);
    if (type === 'preview.looked') {
      this.#checked.add(port);
      this.#results.set(port, resultOf(data));
    } else if (type.startsWith('port.')) this.#results.delete(port);
    // A result describes the server that was checked.
    else if (type === 'server.changed' || type.startsWith('sandbox.')) this.#results.clear();
  }

  isChecked(port: number): boolean {
    return this.#checked.has(port);
  }

  isKnown(port: number, result: PageResult): boolean {
    const { data } = pageLooked({ port, path: '/', by: undefined }, result, new Date(0));
    return this.#results.get(port) === resultOf(data);
  }
}

function resultOf({ path, result, cause, place }: RunEvent['data']): string {
  return JSON.stringify([path, result, cause ?? null, place ?? null]);
}
