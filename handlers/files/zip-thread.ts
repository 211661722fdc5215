/**
 * The worker thread of a zip, which would block the event loop and needs bounded memory. Imported
 * elsewhere it only exports its location.
 */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { constants, getPriority, setPriority } from 'node:os';
import { PortholeError } from '#base/errors.ts';

export const ZIP_THREAD = new URL(import.meta.url);
const cache = getCompileCacheDir();
/** With the process's cache of compiled code, a thread loads no TypeScript compiler (30 MiB). */
export const ZIP_THREAD_ENV = cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) };
/** Key in the worker data of a thread that makes a zip. */
export const JOB = 'porthole-zip';

/**
 * Requests of a zip: more of the tar, or a piece of output to take. `used`: the last piece of the
 * tar, for reuse; as garbage these would amount to tens of MiB.
 */
type ZipAsks =
  | { readonly kind: 'more'; readonly used: Uint8Array | undefined }
  | { readonly kind: 'piece'; readonly bytes: Uint8Array };
export type ZipAnswer =
  | { readonly kind: 'tar'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'taken' };
interface Failure {
  readonly kind: 'failed';
  readonly code: PortholeError['code'];
  readonly message: string;
}
export type ZipSays = ZipAsks | Failure | { readonly kind: 'done' };

const isZip = (workerData as { readonly [JOB]?: true } | null)?.[JOB] === true;
if (!isMainThread && parentPort !== null && isZip) {
  // Linux applies niceness per thread: other requests take precedence.
  setPriority(Math.min(getPriority() + 10, constants.priority.PRIORITY_LOW));
  await zip(parentPort);
}

async function zip(port: NonNullable<typeof parentPort>): Promise<void> {
  const { zipPieces } = await import('./zip-of-tar.ts');
  const ask = (asks: ZipAsks) =>
    new Promise<ZipAnswer>((resolve) => {
      port.once('message', resolve);
      const given = asks.kind === 'piece' ? asks.bytes : asks.used;
      port.postMessage(asks, given === undefined ? [] : [given.buffer as ArrayBuffer]);
    });
  async function* tar(): AsyncGenerator<Buffer, void, undefined> {
    let used: Uint8Array | undefined;
    for (;;) {
      const answer = await ask({ kind: 'more', used });
      if (answer.kind !== 'tar') return;
      used = answer.bytes;
      yield Buffer.from(used.buffer, used.byteOffset, used.length);
    }
  }
  try {
    for await (const piece of zipPieces(tar())) {
      const isAlone = piece.length === piece.buffer.byteLength;
      await ask({ kind: 'piece', bytes: isAlone ? piece : Uint8Array.from(piece) });
    }
    port.postMessage({ kind: 'done' } satisfies ZipSays, []);
  } catch (error) {
    port.postMessage(failureOf(error), []);
  }
}

function failureOf(error: unknown): Failure {
  const { code, message } =
    error instanceof PortholeError ? error : new PortholeError('internal_error', String(error));
  return { kind: 'failed', code, message };
}
