import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { missingFor } from '#test/adapters/local/machine.ts';
import { ask, type Bridge, create, refusal, run } from '#test/contracts/bridge/bridge-client.ts';
import {
  type HostProcess,
  residentMemory,
  resetPeakMemory,
  startHostProcess,
} from '#test/support/host-process.ts';
import { suite } from '#test/support/suite.ts';

const MB = 1_000_000;
const KEY = 'the-key-of-the-large-sessions';
/** What the host may need beyond its memory at rest, in MiB. */
const MAX_EXTRA_MIB = 32;

const FORM = { 'content-type': 'multipart/form-data; boundary=x' };
const HEAD = '--x\r\nContent-Disposition: form-data; name="f"; filename="large.bin"\r\n\r\n';

suite(
  'sessions of more than 32 MiB',
  process.platform === 'linux' ? missingFor('unshare') : 'needs /proc',
  () => {
    let folder = '';
    let host: HostProcess;
    let bridge: Bridge;
    let [from, to] = ['', ''];
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'porthole-large-'));
      const environment = { SANDBOX_API_KEY: KEY, LOG_LEVEL: 'warn' };
      host = await startHostProcess({ dataDir: folder, environment });
      bridge = { port: host.port, key: KEY };
      [from, to] = [await create(bridge), await create(bridge)];
      for (const id of [from, to]) await run(bridge, id, ['true']);
    }, 60_000);
    afterAll(async () => {
      for (const id of [from, to]) await ask(bridge, 'DELETE', `/v1/sandbox/${id}`);
      await host.end();
      rmSync(folder, { recursive: true, force: true });
    }, 60_000);

    /** A request with a stream as its body; resolves at the head of the answer. */
    const send = (method: string, path: string, body?: Readable, headers: Record<string, string> = {}) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const outgoing = request({
          host: '127.0.0.1',
          port: bridge.port,
          method,
          path,
          agent: false,
          headers: { authorization: `Bearer ${KEY}`, ...headers },
        });
        outgoing.once('response', resolve).once('error', reject);
        if (body === undefined) outgoing.end();
        else body.pipe(outgoing);
      });

    const answer = async (way: Promise<IncomingMessage>) => {
      const response = await way;
      return [response.statusCode, await text(response)] as const;
    };

    /** A command for so many MB, each piece of which differs. */
    const bytes = (size: number) => `seq 100000000 200000000 | head -c ${size * MB}`;

    const endOf = async (id: string) =>
      (await run(bridge, id, ['sh', '-c', 'stat -c %s large.bin; tail -c 200 large.bin'])).stdout.toString();

    /**
     * How much memory the host needs for `work` beyond what it has at rest, in MiB: the least of
     * three times. Contents that are held are held each time, but V8 grows its heap once.
     */
    const growth = async (work: () => Promise<void>): Promise<number> => {
      let least = Infinity;
      for (let time = 0; time < 3 && least >= MAX_EXTRA_MIB; time += 1) {
        const { now } = await residentMemory(host);
        await resetPeakMemory(host);
        await work();
        least = Math.min(least, (await residentMemory(host)).peak - now);
      }
      return least;
    };

    test.each([40, 400])(
      'resumes one of %d MB in 32 MiB of memory',
      async (size) => {
        // The first session has what is loaded only then.
        await run(bridge, from, ['sh', '-c', `${bytes(40)} > large.bin`]);
        const resume = async () => {
          const archive = await send('POST', `/v1/sandbox/${from}/persist`);
          expect(archive.statusCode).toBe(200);
          expect(await answer(send('POST', `/v1/sandbox/${to}/hydrate`, archive))).toEqual([
            200,
            '{"ok":true}',
          ]);
        };
        await resume();
        await run(bridge, from, ['sh', '-c', `${bytes(size)} > large.bin`]);
        const more = await growth(resume);
        expect(await endOf(to)).toBe(await endOf(from));
        expect(more).toBeLessThan(MAX_EXTRA_MIB);
      },
      300_000,
    );

    test('takes a file of 400 MB in a form in 32 MiB of memory', async () => {
      const piece = Buffer.alloc(MB, 'porthole');
      const form = function* (size: number) {
        yield HEAD;
        for (let at = 0; at < size; at += 1) yield piece;
        yield '\r\n--x--\r\n';
      };
      const upload = async (size: number) => {
        const sent = send('POST', `/v1/sandbox/${to}/files`, Readable.from(form(size)), FORM);
        const files = [{ path: '/workspace/large.bin', size: size * MB }];
        expect(await answer(sent)).toEqual([200, JSON.stringify({ files })]);
      };
      await upload(40);
      const more = await growth(() => upload(400));
      const ran = await run(bridge, to, ['sh', '-c', 'stat -c %s large.bin; tail -c 8 large.bin']);
      expect(ran.stdout.toString()).toBe(`${400 * MB}\nporthole`);
      expect(more).toBeLessThan(MAX_EXTRA_MIB);
    }, 300_000);

    test('answers as the bridge above a limit of the installation', async () => {
      const data = mkdtempSync(join(tmpdir(), 'porthole-limited-'));
      const environment = {
        SANDBOX_API_KEY: KEY,
        LOG_LEVEL: 'warn',
        PORTHOLE_MAX_ARCHIVE_MIB: '1',
        PORTHOLE_MAX_FILE_MIB: '33',
      };
      const limited = await startHostProcess({ dataDir: data, environment });
      const there = { port: limited.port, key: KEY };
      const id = await create(there);
      const body = Buffer.alloc(33 * 1_048_576);
      const archive = body.subarray(0, 1_048_577);
      expect(refusal(await ask(there, 'POST', `/v1/sandbox/${id}/hydrate`, { body: archive }))).toEqual([
        400,
        'invalid_request',
        'tar payload too large: 1048577 bytes exceeds the 1048576-byte limit',
      ]);
      const file = `/v1/sandbox/${id}/file/workspace/large.bin`;
      expect((await ask(there, 'PUT', file, { body })).status).toBe(200);
      const larger = Buffer.concat([body, Buffer.alloc(1)]);
      expect(refusal(await ask(there, 'PUT', file, { body: larger }))).toEqual([
        413,
        'payload_too_large',
        'payload too large: 34603009 bytes exceeds the 34603008-byte limit',
      ]);
      await ask(there, 'DELETE', `/v1/sandbox/${id}`);
      await limited.end();
      rmSync(data, { recursive: true, force: true });
    }, 60_000);
  },
);
