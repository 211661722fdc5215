/** What the suites of the guest's files share. */
import fs from 'node:fs';
import { PortholeError } from '#base/errors.ts';

export async function* from(...chunks: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk as string);
}

/** The bytes in pieces of random size, up to `end`; then the sender disconnects. */
export async function* cut(bytes: Buffer, end: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < end; ) {
    const next = Math.min(end, at + 1 + Math.floor(Math.random() * 5_000));
    yield bytes.subarray(at, next);
    at = next;
  }
  throw new Error('aborted');
}

export const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof PortholeError ? error.code : String(error)),
  );

export function frame(type: number, payload: string | Buffer = ''): Buffer {
  const bytes = Buffer.from(payload as string);
  const head = Buffer.alloc(5);
  head[0] = type;
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** Paths (bytes as Latin-1) with the kind of each, and the content of files. */
export function look(folder: string, above = ''): string[] {
  const names = fs.readdirSync(Buffer.from(folder, 'latin1'), { encoding: 'latin1' }).sort();
  return names.flatMap((name) => {
    const path = Buffer.from(`${folder}/${name}`, 'latin1');
    const stat = fs.lstatSync(path);
    if (stat.isDirectory()) return [`${above}${name}/`, ...look(`${folder}/${name}`, `${above}${name}/`)];
    if (stat.isSymbolicLink()) return [`${above}${name} → ${fs.readlinkSync(path)}`];
    return [
      stat.isFile()
        ? `${above}${name} = ${fs.readFileSync(path, 'latin1').slice(0, 40)}`
        : `${above}${name}?`,
    ];
  });
}
