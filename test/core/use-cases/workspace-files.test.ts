/** Reading files through a connection that breaks. The scripts run in this machine's shell. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import type { ExecCommand, ExecExit, ExecProcess, SandboxProvider } from '#core/ports/sandbox-provider.ts';
import { listWorkspaceFiles } from '#core/use-cases/list-workspace-files.ts';
import { persistWorkspace } from '#core/use-cases/persist-workspace.ts';
import { readWorkspaceFile } from '#core/use-cases/workspace-files.ts';
import { bytes, codeOf } from '#test/contracts/sandbox-provider.contract.ts';
import { memorySandboxes } from '#test/doubles/memory-sandboxes.ts';

const folder = mkdtempSync(join(tmpdir(), 'porthole-files-'));
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * The connection of the nth command breaks behind so many bytes of its stdout; `refused`: it is not
 * even opened.
 */
type Cut = number | 'refused' | undefined;

let cuts: Cut[] = [];
let started = 0;
/** Called when the connection of a command has broken. */
let broken: () => void;
beforeEach(() => {
  cuts = [];
  started = 0;
  broken = () => {};
});

const provider: SandboxProvider = {
  ...memorySandboxes().provider,
  exec: async (_id, command) => run(command),
};

function run({ argv }: ExecCommand): ExecProcess {
  const cut = cuts[started++];
  if (cut === 'refused') throw transportError('box', 'the API server does not answer');
  const [program, ...words] = argv;
  const child = spawn(program, words, { env: { PATH: process.env['PATH'], WORKSPACE: folder } });
  const stdout = new PassThrough({ highWaterMark: 1024 });
  const stderr = new PassThrough();
  stdout.on('error', () => undefined);
  stderr.on('error', () => undefined);
  child.stderr.pipe(stderr);
  const finish = async (): Promise<ExecExit> => {
    if (await pump(child.stdout, stdout, cut)) {
      const [code, signal] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
      stdout.end();
      return signal ? { signal: String(signal) } : { code: Number(code) };
    }
    broken();
    child.kill('SIGKILL');
    const lost = transportError('box', 'the connection broke');
    for (const stream of [stdout, stderr]) stream.destroy(lost);
    throw lost;
  };
  const exited = finish();
  exited.catch(() => undefined);
  return {
    stdin: null,
    stdout,
    stderr,
    exited,
    kill: (signal) => void child.kill(signal),
    resize: () => {},
  };
}

/** False where the connection breaks. All that came before has been read by then. */
async function pump(from: Readable, to: PassThrough, cut: number | undefined): Promise<boolean> {
  let left = cut ?? Infinity;
  for await (const chunk of from as AsyncIterable<Buffer>) {
    const piece = chunk.subarray(0, left);
    left -= piece.length;
    if (!to.write(piece)) await Promise.race([once(to, 'drain'), once(to, 'close')]);
    if (left === 0) break;
  }
  if (left > 0) return true;
  while (to.readableLength + to.writableLength > 0) await new Promise((resolve) => setImmediate(resolve));
  return false;
}

const read = async (path: string): Promise<Buffer> =>
  bytes((await readWorkspaceFile({ provider }, 'box', path)).content);

describe('reading a file', () => {
  const content = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 31) % 251));
  beforeEach(() => writeFileSync(join(folder, 'file'), content));

  test('tells its size before its bytes', async () => {
    const { size, content: stream } = await readWorkspaceFile({ provider }, 'box', 'file');
    expect(size).toBe(content.length);
    expect((await bytes(stream)).equals(content)).toBe(true);
    expect(started).toBe(1);
  });

  test('reads an empty file, and one that holds a newline alone', async () => {
    writeFileSync(join(folder, 'empty'), '');
    writeFileSync(join(folder, 'newline'), '\n');
    expect((await read('empty')).length).toBe(0);
    expect((await read('newline')).toString()).toBe('\n');
  });

  test.each<[string, Cut[], number]>([
    ['in the middle', [150_000], 2],
    ['again and again', [40_000, 60_000, 80_000], 4],
    ['and cannot be opened at once', [150_000, 'refused', 'refused'], 4],
    ['before it is open', ['refused', 3], 3],
  ])('goes on where it was when the connection breaks %s', async (_title, planned, commands) => {
    cuts = planned;
    expect((await read('file')).equals(content)).toBe(true);
    expect(started).toBe(commands);
  });

  test('fails when the connection breaks and the file has changed since', async () => {
    cuts = [150_000];
    broken = () => writeFileSync(join(folder, 'file'), Buffer.alloc(content.length, 1));
    expect(await codeOf(read('file'))).toBe('exec_transport_error');
  });

  test('fails when the connection breaks without progress', async () => {
    cuts = [150_000, 3, 3, 3];
    expect(await codeOf(read('file'))).toBe('exec_transport_error');
  });

  test('fails when the connection cannot be opened three times', async () => {
    cuts = ['refused', 'refused', 'refused'];
    expect(await codeOf(read('file'))).toBe('exec_transport_error');
    expect(started).toBe(3);
  });

  test('ends with the bytes that the file had when it was opened', async () => {
    const { content: stream } = await readWorkspaceFile({ provider }, 'box', 'file');
    appendFileSync(join(folder, 'file'), Buffer.alloc(1_000_000));
    expect((await bytes(stream)).equals(content)).toBe(true);
  });

  test('fails when the file becomes shorter meanwhile', async () => {
    const { content: stream } = await readWorkspaceFile({ provider }, 'box', 'file');
    truncateSync(join(folder, 'file'), 10);
    await expect(bytes(stream)).rejects.toThrow(/of 300000 bytes/);
  });

  test('asks no second time for a file that is missing', async () => {
    expect(await codeOf(read('none'))).toBe('workspace_read_not_found');
    expect(started).toBe(1);
  });
});

test('lists a folder again when the connection breaks', async () => {
  cuts = ['refused', 20];
  const { entries } = await listWorkspaceFiles({ provider }, 'box', '/workspace', { depth: 1, most: 100 });
  expect(entries.map(({ path }) => path)).toContain('/workspace/file');
  expect(started).toBe(3);
});

test('makes an archive again when the connection breaks before its first byte, and fails when it breaks later', async () => {
  cuts = ['refused'];
  const { tar } = await persistWorkspace({ provider }, 'box');
  expect((await bytes(tar)).length).toBeGreaterThan(300_000);
  cuts = [undefined, undefined, 150_000];
  const { tar: broken } = await persistWorkspace({ provider }, 'box');
  expect(await codeOf(bytes(broken))).toBe('exec_transport_error');
});
