/**
 * A worker thread for work that would block the event loop or needs bounded memory: zips, and large
 * listings. Imported elsewhere it only exports its location.
 */
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { setPriority } from 'node:os';
import { PortholeError } from '#core/errors.ts';
import type { Listing } from '#core/files/list-workspace-files.ts';

export const HEAVY_THREAD = new URL(import.meta.url);
/** Key of the job in the thread's worker data. */
export const JOB = 'porthole-heavy-job';
export type Job = 'zip' | 'listing';

/** Requests of a zip: more of the tar, or a piece of output to take. */
export type ZipAsks = { readonly kind: 'more' } | { readonly kind: 'piece'; readonly bytes: Uint8Array };
export type ZipAnswer =
  | { readonly kind: 'tar'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'taken' };
export interface ListingAsk {
  readonly id: number;
  readonly listing: Listing;
}
export interface Failure {
  readonly kind: 'failed';
  readonly code: PortholeError['code'];
  readonly message: string;
}
export type ZipSays = ZipAsks | Failure | { readonly kind: 'done' };
export type ListingSays =
  | { readonly kind: 'json'; readonly id: number; readonly bytes: Uint8Array }
  | (Failure & { readonly id: number });

const job = (workerData as { readonly [JOB]?: Job } | null)?.[JOB];
if (!isMainThread && parentPort !== null && job !== undefined) {
  // Linux applies niceness per thread: other requests take precedence.
  setPriority(10);
  if (job === 'zip') await zip(parentPort);
  else await listings(parentPort);
}

async function zip(port: NonNullable<typeof parentPort>): Promise<void> {
  const { zipPieces } = await import('./zip-of-tar.ts');
  const ask = (asks: ZipAsks) =>
    new Promise<ZipAnswer>((resolve) => {
      port.once('message', resolve);
      port.postMessage(asks, asks.kind === 'piece' ? [asks.bytes.buffer as ArrayBuffer] : []);
    });
  async function* tar(): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const answer = await ask({ kind: 'more' });
      if (answer.kind !== 'tar') return;
      yield Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.length);
    }
  }
  try {
    for await (const piece of zipPieces(tar())) {
      await ask({ kind: 'piece', bytes: Uint8Array.from(piece) });
    }
    port.postMessage({ kind: 'done' } satisfies ZipSays, []);
  } catch (error) {
    port.postMessage(failureOf(error), []);
  }
}

async function listings(port: NonNullable<typeof parentPort>): Promise<void> {
  const { listingJson } = await import('./listing-thread.ts');
  port.on('message', ({ id, listing }: ListingAsk) => {
    try {
      const bytes = Uint8Array.from(listingJson(listing));
      port.postMessage({ kind: 'json', id, bytes } satisfies ListingSays, [bytes.buffer]);
    } catch (error) {
      port.postMessage({ ...failureOf(error), id } satisfies ListingSays, []);
    }
  });
}

function failureOf(error: unknown): Failure {
  const { code, message } =
    error instanceof PortholeError ? error : new PortholeError('internal_error', String(error));
  return { kind: 'failed', code, message };
}
