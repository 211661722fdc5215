import { Worker } from 'node:worker_threads';
import { PortholeError } from '#base/errors.ts';
import { FairQueue } from '#base/concurrency.ts';
import { filesOfListing, type Listing } from '#core/files/list-workspace-files.ts';
import type { Job, ListingAsk, ListingSays } from './heavy-thread.ts';

const MAX_ENTRIES = 10_000;
/** Up to this size in bytes, parsing here costs less than the thread: about 300 files. */
const SMALL = 16_384;
/** Idle time after which a thread ends. */
const IDLE_MS = 30_000;
const MEMORY = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

interface Waiting {
  resolve(json: Buffer): void;
  reject(error: Error): void;
}

/**
 * One thread for all listings of this process: requests wait in its queue and not in the event
 * loop.
 */
interface ListingThread {
  readonly worker: Worker;
  readonly waiting: Map<number, Waiting>;
  idle: NodeJS.Timeout | undefined;
}

let thread: Promise<ListingThread> | undefined;
let asked = 0;

/** In the thread one listing runs at a time, and those of one owner do not delay the others. */
const queue = new FairQueue({ perOwner: 1, total: 1, waiting: Infinity });

/** The response to a listing, computed outside the event loop. */
export async function inListingThread(listing: Listing, owner: string): Promise<Buffer> {
  if (listing.said.length <= SMALL) return listingJson(listing);
  const place = await queue.enter(owner);
  try {
    return await askThread(listing);
  } finally {
    place?.end();
  }
}

async function askThread(listing: Listing): Promise<Buffer> {
  const { worker, waiting, idle } = await (thread ??= begin().catch(forget));
  clearTimeout(idle);
  const id = (asked += 1);
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker.ref();
    worker.postMessage({ id, listing } satisfies ListingAsk, []);
  });
}

/** The next listing tries again. */
function forget(error: unknown): never {
  thread = undefined;
  throw error;
}

async function begin(): Promise<ListingThread> {
  const { HEAVY_THREAD, HEAVY_THREAD_ENV, JOB } = await import('./heavy-thread.ts');
  const worker = new Worker(HEAVY_THREAD, {
    workerData: { [JOB]: 'listing' satisfies Job },
    resourceLimits: MEMORY,
    env: HEAVY_THREAD_ENV,
  });
  const begun: ListingThread = { worker, waiting: new Map(), idle: undefined };
  const { waiting } = begun;
  const over = (error: Error) => {
    thread = undefined;
    for (const each of waiting.values()) each.reject(error);
    waiting.clear();
  };
  worker.on('message', (said: ListingSays) => {
    const found = waiting.get(said.id);
    waiting.delete(said.id);
    if (said.kind === 'json') found?.resolve(Buffer.from(said.bytes.buffer));
    else found?.reject(new PortholeError(said.code, said.message));
    if (waiting.size > 0) return;
    // Without pending work it does not keep the process alive.
    worker.unref();
    begun.idle = setTimeout(() => {
      thread = undefined;
      void worker.terminate();
    }, IDLE_MS).unref();
  });
  worker.once('error', over);
  worker.once('exit', (code) => over(new Error(`the thread of listings ended with ${code}`)));
  return begun;
}

/** The response to a listing: synchronous work that takes milliseconds per thousand entries. */
export function listingJson(listing: Listing): Buffer {
  const { entries, isCut } = filesOfListing(listing, MAX_ENTRIES);
  const answer = {
    entries: entries.map(({ mtime, mode, ...entry }) => ({
      ...entry,
      mtime: mtime?.toISOString() ?? null,
      mode: mode.toString(8).padStart(4, '0'),
    })),
    truncated: isCut,
  };
  return Buffer.from(JSON.stringify(answer));
}
