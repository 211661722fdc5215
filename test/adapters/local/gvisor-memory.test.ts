import { mkdtemp, readFile, rm, writeFile, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { GuestCalls } from '#core/sandboxes/sandbox-provider.ts';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { imageBytes, readImage, writeImage } from '#adapters/local/memory-image.ts';
import { missingFor, runsc } from '#test/adapters/local/machine.ts';
import { sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'porthole-memory-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('writes an image as it was read, and refuses any other', async () => {
  const from = join(folder, 'from');
  await mkdir(join(from, 'memory'), { recursive: true });
  const contents = { 'state.tar': '', 'memory/checkpoint.img': 'one', 'memory/pages_meta.img': '\n{}' };
  for (const [name, text] of Object.entries({ ...contents, 'memory/pages.img': 'x'.repeat(200_000) })) {
    await writeFile(join(from, name), text);
  }
  const whole = Buffer.concat(await Readable.from(readImage(from, ['a', 'b\n'])).toArray());
  expect(await imageBytes(from)).toBe(200_006);
  const pieces = function* (size: number, bytes = whole) {
    for (let at = 0; at < bytes.length; at += size) yield Buffer.from(bytes.subarray(at, at + size));
  };
  for (const size of [5_000, 65_536, whole.length]) {
    const to = join(folder, `to-${size}`);
    expect(await writeImage(to, Readable.from(pieces(size)))).toEqual(['a', 'b\n']);
    for (const name of [...Object.keys(contents), 'memory/pages.img']) {
      expect(await readFile(join(to, name))).toEqual(await readFile(join(from, name)));
    }
  }
  const head = whole.indexOf('\n');
  const bad = [
    whole.subarray(0, -1),
    whole.subarray(0, head),
    Buffer.concat([whole, Buffer.from('x')]),
    Buffer.from(whole.toString().replace('state.tar', '../../etc')),
    Buffer.alloc(0),
  ];
  for (const [index, bytes] of bad.entries()) {
    await expect(
      writeImage(join(folder, `bad-${index}`), Readable.from(pieces(20_000, bytes))),
    ).rejects.toThrow();
  }
});

suite('memory of local sandboxes', missingFor('gvisor'), () => {
  let provider: TestProvider;
  beforeAll(() => {
    provider = withGuests(createLocalProvider({ dataDir: join(folder, 'data'), isolation: 'gvisor', runsc }));
  });

  const shell = async (id: string, script: string) => {
    const command = await provider.exec(id, { argv: ['sh', '-c', script] });
    const [text] = await Promise.all([command.stdout.toArray(), command.exited]);
    return Buffer.concat(text as Buffer[]).toString();
  };

  test('a sandbox without the files of the image starts from those that it has', async () => {
    const [from, to] = [sandboxId(), sandboxId()];
    await provider.create({ id: from });
    await shell(from, 'echo x > open; nohup sleep 1000 < open > /dev/null 2>&1 &');
    const image = (await provider.memory?.save(from, 2 ** 30)) as Readable;
    let state: string | undefined;
    const fill = async ({ callGuest }: Pick<GuestCalls, 'callGuest'>) => {
      // Nothing else reaches it meanwhile.
      ({ state } = await provider.inspect(to));
      const body = Readable.from(['own']);
      (await callGuest(to, { method: 'PUT', path: '/v1/files?path=/workspace/own', body })).resume();
    };
    expect(await provider.memory?.create({ id: to }, fill, image)).toContain('runs from its files');
    expect(state).toBe('creating');
    expect(await shell(to, 'cat own; echo; dmesg | head -1; echo $SANDBOX_ID')).toMatch(/^own\n.*gVisor/);
    expect(await provider.inspect(to)).toMatchObject({ state: 'running' });
    await Promise.all([from, to].map((id) => provider.destroy(id)));
  }, 60_000);

  test('nothing is left of a sandbox of which the files or the image are not whole', async () => {
    const id = sandboxId();
    const damaged = () => Readable.from([Buffer.from('{}\n')]);
    await expect(provider.memory?.create({ id }, () => Promise.resolve(), damaged())).rejects.toThrow();
    const failed = () => Promise.reject(new Error('no files'));
    await expect(provider.memory?.create({ id }, failed, damaged())).rejects.toThrow();
    expect(await provider.inspect(id)).toMatchObject({ state: 'absent' });
  }, 60_000);

  test.each([true, false])(
    'a stop keeps memory if it should: %s',
    async (keepsMemory) => {
      const dataDir = join(folder, `keeps-${keepsMemory}`);
      const own = withGuests(createLocalProvider({ dataDir, isolation: 'gvisor', runsc, keepsMemory }));
      const id = sandboxId();
      await own.create({ id });
      const command = await own.exec(id, { argv: ['touch', '/tmp/in-memory'] });
      await command.exited;
      await own.memory?.suspend(id);
      expect(await own.inspect(id)).toMatchObject({ state: 'stopped' });
      await own.resume(id);
      const list = await own.exec(id, { argv: ['ls', '/tmp'] });
      expect((await list.stdout.toArray()).join('')).toBe(keepsMemory ? 'in-memory\n' : '');
      await own.destroy(id);
    },
    60_000,
  );
});
