/**
 * The saved memory of a sandbox as one stream: a line of JSON, then its files in that order.
 */
import { constants, createReadStream } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod/mini';

/** The folder with the files of runsc. */
export const MEMORY = 'memory';
/** A tar of the guest's files outside the workspace. */
export const STATE = 'state.tar';

const FILES = [
  STATE,
  ...['checkpoint.img', 'pages_meta.img', 'pages.img'].map((name) => `${MEMORY}/${name}`),
];

/** Bytes of the line. */
const MAX_HEAD = 1_048_576;
const PIECE = 1_048_576;

const imageHead = z.object({
  /** The command of the sandbox: runsc restores memory only under the same one. */
  command: z.array(z.string()),
  files: z.array(z.tuple([z.enum(FILES), z.int().check(z.gte(0))])),
});

/** Bytes of the files. */
export async function imageBytes(folder: string): Promise<number> {
  const stats = await Promise.all(FILES.map((name) => stat(join(folder, name))));
  return stats.reduce((total, { size }) => total + size, 0);
}

export async function* readImage(
  folder: string,
  command: readonly string[],
): AsyncGenerator<Buffer, void, undefined> {
  const files = await Promise.all(
    FILES.map(async (name) => [name, (await stat(join(folder, name))).size] as const),
  );
  yield Buffer.from(`${JSON.stringify({ command, files })}\n`);
  for (const [name, size] of files) {
    if (size === 0) continue;
    // The sandbox's user can write in the folder: no links.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW;
    const file = await open(join(folder, name), flags);
    yield* createReadStream('', { fd: file, end: size - 1, highWaterMark: PIECE }) as AsyncIterable<Buffer>;
  }
}

/**
 * Writes the files of an image into a new folder.
 * @returns the command of the sandbox
 * @throws Error if the image is cut off or malformed, or that of `source`
 */
export async function writeImage(folder: string, source: AsyncIterable<Buffer>): Promise<string[]> {
  await mkdir(join(folder, MEMORY), { recursive: true, mode: 0o700 });
  const pieces = source[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  const more = async (): Promise<void> => {
    const { value, done } = await pieces.next();
    if (done === true) throw new Error('the image is cut off');
    held = held.length === 0 ? value : Buffer.concat([held, value]);
  };
  let end: number;
  while ((end = held.indexOf('\n')) === -1) {
    if (held.length > MAX_HEAD) throw new Error('the image has no head');
    await more();
  }
  const { command, files } = imageHead.parse(JSON.parse(held.subarray(0, end).toString()));
  held = held.subarray(end + 1);
  for (const [name, size] of files) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    const file = await open(path, 'wx', 0o600);
    try {
      for (let left = size; left > 0; ) {
        if (held.length === 0) await more();
        const piece = held.subarray(0, left);
        await file.writeFile(piece);
        held = held.subarray(piece.length);
        left -= piece.length;
      }
    } finally {
      await file.close();
    }
  }
  // The end of the source is the proof that all of it is whole.
  if (held.length > 0 || (await pieces.next()).done !== true) throw new Error('the image is too long');
  return command;
}
