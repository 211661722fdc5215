/** Reading files through failing connections to a real guest. */
import { appendFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { guestCalls } from '#adapters/guest/guest-calls.ts';
import { transportError } from '#adapters/sandboxes/sandbox-errors.ts';
import type { TestProvider } from '#test/support/with-guests.ts';
import { listWorkspaceFiles } from '#core/files/list-workspace-files.ts';
import { persistWorkspace } from '#core/files/persist-workspace.ts';
import { readWorkspaceFile } from '#core/files/workspace-files.ts';
import { bytes, codeOf } from '#test/contracts/sandbox-provider.contract.ts';
import { memorySandboxes } from '#test/doubles/memory-sandboxes.ts';
import { GuestProcess } from '#test/guest/support/guest-process.ts';

/** The nth connection breaks after this many bytes of its response; `refused`: it is not opened. */
type Cut = number | 'refused' | undefined;

let guest: GuestProcess;
let folder: string;
let cuts: Cut[] = [];
let started = 0;
/** Called when a connection breaks. */
let broken: () => void;
beforeAll(async () => {
  guest = await GuestProcess.start();
  folder = guest.workspace;
});
afterAll(() => guest.stop());
beforeEach(() => {
  cuts = [];
  started = 0;
  broken = () => {};
});

const provider: TestProvider = {
  ...memorySandboxes().provider,
  ...guestCalls({ connect: async () => ({ stream: await connection() }) }, 30_000),
};

async function connection(): Promise<Duplex> {
  const cut = cuts[started++];
  if (cut === 'refused') throw transportError('box', 'its pod does not accept');
  const socket = await guest.connect();
  if (cut === undefined) return socket;
  async function* answer(): AsyncGenerator<Buffer, void, undefined> {
    let left = cut as number;
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      yield chunk.subarray(0, left);
      left -= chunk.length;
      if (left <= 0) break;
    }
    // Earlier data has been read by then.
    while (stream.readableLength > 0) await new Promise((resolve) => setImmediate(resolve));
    broken();
    socket.destroy();
    throw new Error('the connection broke');
  }
  const stream = Duplex.from({ readable: answer(), writable: socket });
  return stream;
}

const read = async (path: string): Promise<Buffer> =>
  bytes((await readWorkspaceFile({ sandboxes: provider }, 'box', path)).content);

describe('reading a file', () => {
  const content = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 31) % 251));
  beforeEach(() => writeFileSync(join(folder, 'file'), content));

  test('tells its size before its bytes', async () => {
    const { size, content: stream } = await readWorkspaceFile({ sandboxes: provider }, 'box', 'file');
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
  ])('resumes at its offset after a connection break %s', async (_title, planned, commands) => {
    cuts = planned;
    expect((await read('file')).equals(content)).toBe(true);
    expect(started).toBe(commands);
  });

  test('fails when the connection breaks and the file has changed', async () => {
    cuts = [150_000];
    broken = () => {
      writeFileSync(join(folder, 'file'), Buffer.alloc(content.length, 1));
      // A change within one tick of the file system's clock has the time of the change before it.
      utimesSync(join(folder, 'file'), 1, 1);
    };
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

  test('ends at the size that the file had when it was opened', async () => {
    const { content: stream } = await readWorkspaceFile({ sandboxes: provider }, 'box', 'file');
    appendFileSync(join(folder, 'file'), Buffer.alloc(1_000_000));
    expect((await bytes(stream)).equals(content)).toBe(true);
  });

  test('fails when the file shrinks while it is read', async () => {
    // More than the connection buffers.
    writeFileSync(join(folder, 'file'), Buffer.alloc(16 * 1_048_576));
    const { content: stream } = await readWorkspaceFile({ sandboxes: provider }, 'box', 'file');
    truncateSync(join(folder, 'file'), 10);
    expect(await codeOf(bytes(stream))).toBe('exec_transport_error');
  });

  test('does not retry a file that is missing', async () => {
    expect(await codeOf(read('none'))).toBe('workspace_read_not_found');
    expect(started).toBe(1);
  });
});

test('retries the list of a folder after a connection break', async () => {
  cuts = ['refused', 20];
  const { entries } = await listWorkspaceFiles({ sandboxes: provider }, 'box', '/workspace', {
    depth: 1,
    most: 100,
  });
  expect(entries.map(({ path }) => path)).toContain('/workspace/file');
  expect(started).toBe(3);
});

test('retries an archive that breaks before its first byte, and fails if it breaks later', async () => {
  cuts = ['refused'];
  const { tar } = await persistWorkspace({ sandboxes: provider }, 'box');
  expect((await bytes(tar)).length).toBeGreaterThan(300_000);
  cuts = [undefined, undefined, 150_000];
  const { tar: broken } = await persistWorkspace({ sandboxes: provider }, 'box');
  expect(await codeOf(bytes(broken))).toBe('exec_transport_error');
});
