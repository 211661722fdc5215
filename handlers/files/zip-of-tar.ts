import { once } from 'node:events';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { PortholeError } from '#base/errors.ts';
import type { TarHeader } from '#base/tar/tar-header.ts';
import { type ZipEntry, ZipWriter } from '#base/tar/zip-writer.ts';
import { validatedEntries } from '#base/tar/validate-tar.ts';
import type { ZipAnswer, ZipSays } from './zip-thread.ts';

/** Entry type in the upper bits of the mode, as in Unix and zip. */
const FILE = 0o100000;
const FOLDER = 0o040000;
const LINK = 0o120000;
/**
 * Range of zip's times, in seconds since 1970: its DOS field begins in 1980, its extra field ends
 * in 2038.
 */
const FIRST_TIME = 315_532_800;
const LAST_TIME = 2_147_483_647;

/** Memory limit of a zip's thread in MiB, so that no archive uses the memory of others. */
const MEMORY = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 1, stackSizeMb: 4 };

/**
 * Converts a sandbox's tar to a zip while streaming: one entry at a time, each compressed as it
 * passes, at the pace of its reader, in a thread. Symbolic links are stored as links, like
 * Info-ZIP; pipes, hard links and entries that `validatedTar` omits are omitted.
 */
export function zipOfTar(tar: Readable): Readable {
  const pieces = threadPieces(tar);
  const output = new Readable({
    read() {
      pieces.next().then(
        ({ value, done }) => this.push(done === true ? null : value),
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, done) {
      // A stalled tar would block the generator.
      tar.destroy();
      done(error);
    },
  });
  output.once('close', () => void pieces.return().catch(() => undefined));
  return output;
}

/** The thread requests one thing at a time, so neither side buffers more than one piece. */
async function* threadPieces(tar: Readable): AsyncGenerator<Uint8Array, void, undefined> {
  const { ZIP_THREAD, ZIP_THREAD_ENV, JOB } = await import('./zip-thread.ts');
  const thread = new Worker(ZIP_THREAD, {
    workerData: { [JOB]: true },
    resourceLimits: MEMORY,
    env: ZIP_THREAD_ENV,
  });
  const ended = new AbortController();
  const end = (error: Error) => ended.abort(error);
  thread.once('error', end);
  thread.once('exit', (code) => end(new Error(`the thread of a zip ended with ${code}`)));
  tar.once('error', end);
  const answer = (value: ZipAnswer, bytes?: Uint8Array<ArrayBuffer>) =>
    thread.postMessage(value, bytes === undefined ? [] : [bytes.buffer]);
  const passed = collectEvery(COLLECTED);
  const source = (tar as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const [said] = (await once(thread, 'message', { signal: ended.signal })) as [ZipSays];
      if (said.kind === 'done') return;
      if (said.kind === 'failed') throw new PortholeError(said.code, said.message);
      if (said.kind === 'piece') {
        yield said.bytes;
        passed(said.bytes.length);
        answer({ kind: 'taken' });
      } else {
        const { value, done } = await source.next();
        if (done === true) answer({ kind: 'end' });
        else {
          const bytes = copyInto(said.used, value);
          answer({ kind: 'tar', bytes }, bytes);
          passed(value.length);
        }
      }
    }
  } catch (error) {
    throw ended.signal.aborted ? (ended.signal.reason as Error) : error;
  } finally {
    await thread.terminate();
  }
}

/** In bytes. On its own, V8 frees dropped buffers only after 64 MiB of them. */
const COLLECTED = 2_097_152;

type Collect = (options: { readonly type: 'minor' }) => void;
let exposed: Collect | undefined;

/** Obtained at the first zip, once: it needs a V8 context. */
function exposeCollect(): Collect {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as Collect;
}

function collectEvery(most: number): (bytes: number) => void {
  const collect = (exposed ??= exposeCollect());
  let passed = 0;
  return (bytes) => {
    passed += bytes;
    if (passed < most) return;
    passed = 0;
    collect({ type: 'minor' });
  };
}

/** In bytes: a read from a connection has at most this size. */
const TAR_PIECE = 65_536;

function copyInto(used: Uint8Array | undefined, bytes: Buffer): Uint8Array<ArrayBuffer> {
  const isLarge = used !== undefined && used.buffer.byteLength >= bytes.length;
  const buffer = isLarge ? (used.buffer as ArrayBuffer) : new ArrayBuffer(Math.max(bytes.length, TAR_PIECE));
  const copy = new Uint8Array(buffer, 0, bytes.length);
  copy.set(bytes);
  return copy;
}

export async function* zipPieces(tar: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const zip = new ZipWriter();
  try {
    let isOpen = false;
    for await (const piece of validatedEntries(tar)) {
      if ('contents' in piece) {
        if (isOpen) await zip.write(piece.contents);
      } else {
        const entry = zipEntry(piece.entry);
        isOpen = entry !== undefined && piece.entry.type === 'file';
        if (entry !== undefined) await zip.begin(entry);
        if (piece.entry.type === 'symlink') await zip.write(Buffer.from(piece.entry.linkName, 'latin1'));
      }
      const ready = zip.take();
      if (ready !== undefined) yield ready;
    }
    yield* zip.finish();
  } finally {
    zip.destroy();
  }
}

function zipEntry({ name, linkName, type, size, mode, mtime }: TarHeader): ZipEntry | undefined {
  const path = zipPath(name);
  if (path === '') return undefined;
  const at = Math.min(Math.max(mtime, FIRST_TIME), LAST_TIME);
  if (type === 'directory') {
    return { path: `${path}/`, mode: FOLDER | mode, mtime: at, size: 0, isCompressed: false };
  }
  if (type === 'symlink') {
    return { path, mode: LINK | 0o777, mtime: at, size: linkName.length, isCompressed: false };
  }
  return type === 'file' ? { path, mode: FILE | mode, mtime: at, size, isCompressed: true } : undefined;
}

/** Some systems interpret a backslash, or a colon after the first letter, in zip paths. */
function zipPath(name: string): string {
  const parts = Buffer.from(name, 'latin1')
    .toString('utf8')
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  return parts.map((part) => part.replace(/\\/g, '_').replace(/^([A-Za-z]):/, '$1_')).join('/');
}
