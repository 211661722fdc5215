import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { get } from 'node:http';
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
      'mkdir big; cd big; for n in 1 2 3 4; do head -c 50000000 /dev/urandom > $n; done',
    ]);
  });
  afterAll(() => porthole.end());

  test.each(['tar', 'zip'])('is downloaded as a %s in far less than it in memory', async (format) => {
    const before = process.memoryUsage();
    let most = 0;
    let length = 0;
    await new Promise<void>((resolve, reject) => {
      const url = `${porthole.host.url}/v1/sandbox/${id}/archive?path=big&format=${format}`;
      get(url, (response) => {
        response.on('data', (chunk: Buffer) => {
          length += chunk.length;
          const { arrayBuffers, heapUsed } = process.memoryUsage();
          most = Math.max(most, arrayBuffers - before.arrayBuffers + heapUsed - before.heapUsed);
        });
        response.once('end', resolve).once('error', reject);
      }).once('error', reject);
    });
    expect(length).toBeGreaterThan(200_000_000);
    expect(most / MIB).toBeLessThan(140);
  });

  test.each(['tar', 'zip'])('stops being read by a client that goes away from a %s', async (format) => {
    const url = `${porthole.host.url}/v1/sandbox/${id}/archive?path=big&format=${format}`;
    await new Promise<void>((resolve, reject) => {
      get(url, (response) => {
        response.once('data', () => response.destroy());
        response.once('close', resolve);
      }).once('error', reject);
    });
    const gone = 'for n in $(seq 100); do pgrep -x tar >/dev/null || { echo gone; exit; }; sleep 0.1; done';
    const { stdout } = await execute(porthole, id, ['sh', '-c', gone]);
    expect(stdout.toString()).toBe('gone\n');
  });
});
