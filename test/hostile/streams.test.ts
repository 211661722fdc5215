import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { type Bridge, create, put, readRun, run } from '#test/contracts/bridge/bridge-client.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { repetitions, suite } from '#test/support/suite.ts';
import { missing } from './support/hostile-harness.ts';
import { inLanes } from './support/raw-request.ts';

const MIB = 1_048_576;
const KEY = 'the-key-of-the-streams';

suite('streams of clients that leave or stop', process.platform === 'linux' ? missing : 'needs /proc', () => {
  let folder = '';
  let host: HostProcess;
  let bridge: Bridge;
  let id = '';
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-streams-'));
    host = await startHostProcess({
      dataDir: folder,
      environment: { SANDBOX_API_KEY: KEY, LOG_LEVEL: 'warn' },
    });
    bridge = { port: host.port, key: KEY };
    id = await create(bridge);
    await run(bridge, id, ['true']);
  }, 60_000);
  afterAll(async () => {
    await run(bridge, id, ['true']);
    await new Promise<void>((resolve) => {
      const outgoing = request(
        {
          port: bridge.port,
          method: 'DELETE',
          path: `/v1/sandbox/${id}`,
          headers: { authorization: `Bearer ${KEY}` },
        },
        (response) => {
          response.resume().once('end', resolve);
        },
      );
      outgoing.end();
    });
    await host.end();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  /** In bytes. */
  const resident = () =>
    Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${host.child.pid}/status`, 'utf8'))?.[1]) * 1_024;

  /** Its maximum while `work` runs. */
  async function mostResident(work: () => Promise<void>): Promise<number> {
    let most = resident();
    const look = setInterval(() => (most = Math.max(most, resident())), 20);
    await work().finally(() => clearInterval(look));
    return Math.max(most, resident());
  }

  const open = (argv: readonly string[]) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          port: bridge.port,
          method: 'POST',
          path: `/v1/sandbox/${id}/exec`,
          agent: false,
          headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        },
        resolve,
      );
      outgoing.once('error', reject);
      outgoing.end(JSON.stringify({ argv }));
    });

  test('resident memory stays under 1.5 × idle while 20 uploads of 32 MiB run at once', async () => {
    const bytes = Buffer.alloc(32 * MIB, 7);
    // The idle baseline is that of a host that has already done this kind of work.
    await put(bridge, id, 'workspace/warm', bytes);
    await after(1_000);
    const idle = resident();
    const statuses: number[] = [];
    const most = await mostResident(() =>
      inLanes(
        Array.from({ length: 20 }, (_, at) => at),
        20,
        async (at) => {
          statuses.push((await put(bridge, id, `workspace/upload-${at}`, bytes)).status);
        },
      ),
    );
    expect(statuses).toEqual(Array.from({ length: 20 }, () => 200));
    expect(most / idle).toBeLessThan(1.5);
    await run(bridge, id, ['eval', 'rm upload-* warm']);
  }, 120_000);

  test('hold the command and not the memory when a reader stops in 1 GiB, and deliver all of it at last', async () => {
    const idle = resident();
    const response = await open(['eval', 'yes | head -c 1073741824']);
    await once(response, 'readable');
    // Long enough for a gigabyte without back-pressure.
    const most = await mostResident(() => after(3_000).then(() => undefined));
    expect(most - idle).toBeLessThan(64 * MIB);
    let base64 = 0;
    let tail = '';
    const whole = await mostResident(async () => {
      let rest = '';
      for await (const chunk of response as AsyncIterable<Buffer>) {
        const frames = (rest + chunk.toString('latin1')).split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) {
          const data = frame.slice(frame.indexOf('\ndata: ') + 7);
          if (frame.startsWith('event: stdout'))
            base64 += (data.length / 4) * 3 - (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0);
          else tail += frame;
        }
      }
    });
    expect([base64, tail]).toEqual([1_073_741_824, 'event: exit\ndata: {"exit_code":0}']);
    expect(whole - idle).toBeLessThan(128 * MIB);
  }, 120_000);

  test('send a comment within 15 s when they are idle', async () => {
    const response = await open(['sleep', '14.9']);
    const began = performance.now();
    const [comment] = (await once(response, 'data')) as [Buffer];
    expect([comment.toString(), performance.now() - began < 15_000]).toEqual([':\n\n', true]);
    response.destroy();
  }, 30_000);

  test('execs with clients that vanish at any moment: one end for each that stays, no process left', async () => {
    const execs = repetitions(1_000);
    let stayed = 0;
    const wrong: unknown[] = [];
    await inLanes(
      Array.from({ length: execs }, (_, at) => at),
      8,
      async (at) => {
        const stays = at % 5 === 0;
        const body = JSON.stringify({
          argv: [
            'bash',
            '-c',
            stays ? `echo ${at}; exit ${at % 200}` : `sleep 37.25 & echo ${at}; sleep 37.25`,
          ],
        });
        const outgoing = request({
          host: '127.0.0.1',
          port: bridge.port,
          method: 'POST',
          path: `/v1/sandbox/${id}/exec`,
          agent: false,
          headers: {
            authorization: `Bearer ${KEY}`,
            'content-type': 'application/json',
            'content-length': body.length,
          },
        });
        // Before the request is complete, before the answer, in the middle, or never.
        const leave = stays ? undefined : setTimeout(() => outgoing.destroy(), Math.random() * 60);
        const text = await new Promise<string>((resolve) => {
          let seen = '';
          outgoing.once('error', () => resolve(seen));
          outgoing.once('close', () => resolve(seen));
          outgoing.once('response', (response) => {
            response.on('data', (chunk: Buffer) => (seen += chunk.toString()));
            response.on('error', () => resolve(seen));
            response.once('end', () => resolve(seen));
          });
          outgoing.write(body.slice(0, 10));
          setTimeout(() => void (outgoing.destroyed || outgoing.end(body.slice(10))), Math.random() * 5);
        });
        clearTimeout(leave);
        if (!stays) {
          if (text.includes('event: exit')) wrong.push([at, text]);
          return;
        }
        const { code, stdout } = readRun(text);
        if (code === at % 200 && stdout.toString() === `${at}\n`) stayed += 1;
        else wrong.push([at, text]);
      },
    );
    expect(wrong).toEqual([]);
    expect(stayed).toBe(execs / 5);
    await after(2_000);
    const { stdout } = await run(bridge, id, [
      'bash',
      '-c',
      `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o 'sleep 37[.]25' | wc -l`,
    ]);
    // The searching command has the words in its command line as well, in a different spelling.
    expect(stdout.toString()).toBe('0\n');
  }, 180_000);
});
