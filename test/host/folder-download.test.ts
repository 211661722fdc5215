import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type HostProcess,
  residentMemory,
  resetPeakMemory,
  startHostProcess,
} from '#test/support/host-process.ts';
import { comesTrue, openFiles } from '#test/adapters/local/host-processes.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { makeRun } from './support/runs.ts';

const MIB = 1_048_576;

describe('a folder of 200 MB', () => {
  let porthole: TestHost;
  let id: string;
  beforeAll(async () => {
    porthole = await startTestHost();
    ({ sandboxId: id } = await makeRun(porthole));
    await execute(porthole, id, [
      'sh',
      '-c',
      'mkdir -p big/half; cd big; for n in 1 2 half/3 half/4; do head -c 50000000 /dev/urandom > $n; done',
    ]);
  });
  afterAll(() => porthole.end());

  // Compressing takes the longest; V8 frees the buffers of a tar only after 64 MiB.
  test.each([
    ['tar', 'big', 200],
    ['zip', 'big/half', 100],
  ])('is downloaded as a %s in far less than it in memory', async (format, path, megabytes) => {
    const before = process.memoryUsage();
    let most = 0;
    let length = 0;
    await new Promise<void>((resolve, reject) => {
      const url = `${porthole.host.url}/v1/sandbox/${id}/archive?path=${path}&format=${format}`;
      get(url, (response) => {
        response.on('data', (chunk: Buffer) => {
          length += chunk.length;
          const { arrayBuffers, heapUsed } = process.memoryUsage();
          most = Math.max(most, arrayBuffers - before.arrayBuffers + heapUsed - before.heapUsed);
        });
        response.once('end', resolve).once('error', reject);
      }).once('error', reject);
    });
    expect(length).toBeGreaterThan(megabytes * 1_000_000);
    expect(most / MIB).toBeLessThan(megabytes * 0.7);
  });

  test.each(['tar', 'zip'])('is read no more once the client of a %s has gone', async (format) => {
    const isOpen = () => openFiles().some((file) => file.includes('/workspace/big/'));
    const url = `${porthole.host.url}/v1/sandbox/${id}/archive?path=big&format=${format}`;
    const outgoing = get(url);
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    await once(response, 'readable');
    expect(isOpen()).toBe(true);
    response.destroy();
    expect(await comesTrue(() => !isOpen())).toBe(true);
  });
});

describe('a folder of 200,000 empty files', () => {
  let folder: string;
  let host: HostProcess;
  let sandbox: string;
  const ask = (method: string, path: string, body?: object) =>
    fetch(`${sandbox}${path}`, {
      method,
      ...(body !== undefined && {
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    });
  const bytesOf = async (answer: Response) => {
    expect(answer.status).toBe(200);
    let bytes = 0;
    for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>) bytes += piece.length;
    return bytes;
  };
  const output = async (script: string) => {
    const answer = await ask('POST', '/exec', { argv: ['sh', '-c', script] });
    const { exit_code, stdout } = (await answer.json()) as { exit_code: number; stdout: string };
    expect(exit_code).toBe(0);
    return stdout;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'porthole-many-files-'));
    host = await startHostProcess({ dataDir: join(folder, 'data') });
    const base = `http://127.0.0.1:${host.port}/v1/sandbox`;
    const made = (await (await fetch(base, { method: 'POST' })).json()) as { id: string };
    sandbox = `${base}/${made.id}`;
    await output(
      "mkdir few many && touch few/a && cd many && seq -f 'a-file-of-usual-length-%.0f.txt' 200000 | xargs touch",
    );
  }, 120_000);
  afterAll(async () => {
    await host?.end();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  test('is downloaded as a zip in little memory of the host', async () => {
    // Loads the code.
    await bytesOf(await ask('GET', '/archive?path=few&format=zip'));
    await resetPeakMemory(host);
    const before = await residentMemory(host);
    expect(await bytesOf(await ask('GET', '/archive?path=many&format=zip'))).toBeGreaterThan(200_000 * 150);
    // The goal is 32, which `npm run bench -- fairness` measures; it was 96 and more.
    expect((await residentMemory(host)).peak - before.now).toBeLessThan(56);
  }, 120_000);

  test('is downloaded as a tar, listed, watched and deleted by the guest that was there before', async () => {
    const guest = () => output('cut -d " " -f 22 /proc/1/stat');
    const began = await guest();
    expect(await bytesOf(await ask('GET', '/archive?path=many&format=tar'))).toBeGreaterThan(200_000 * 512);
    const listed = (await (await ask('GET', '/files?path=many')).json()) as {
      entries: { name: string }[];
      truncated: boolean;
    };
    expect([listed.entries.length, listed.entries[0]?.name, listed.truncated]).toEqual([
      10_000,
      'a-file-of-usual-length-1.txt',
      true,
    ]);
    const watched = await ask('GET', '/watch?path=many');
    const reader = (watched.body as ReadableStream<Uint8Array>).getReader();
    let events = '';
    while (!events.includes('"ready"')) events += Buffer.from((await reader.read()).value ?? []).toString();
    await reader.cancel();
    expect((await ask('DELETE', '/file/workspace/many?recursive=true')).status).toBe(200);
    expect(await output('test ! -e many && cut -d " " -f 22 /proc/1/stat')).toBe(began);
  }, 120_000);
});
