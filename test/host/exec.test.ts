import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { request } from 'node:http';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { readEvents } from './support/commands.ts';
import { makeRun } from './support/runs.ts';

// The bridge's contract covers commands; this covers the wire format on this host.
describe('running a command', () => {
  let porthole: TestHost;
  let id: string;
  beforeAll(async () => {
    porthole = await startTestHost();
    ({ sandboxId: id } = await makeRun(porthole));
  });
  afterAll(() => porthole.end());

  const exec = (body: unknown) => porthole.call('POST', `/v1/sandbox/${id}/exec`, { body });

  test('answers events, byte for byte', async () => {
    const answer = await exec({ argv: ['echo', 'hello'] });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/event-stream');
    expect(answer.headers['cache-control']).toBe('no-cache');
    expect(answer.text).toBe('event: stdout\ndata: aGVsbG8K\n\nevent: exit\ndata: {"exit_code":0}\n\n');
  });

  test('stderr has separate events', async () => {
    expect((await exec({ argv: ['sh', '-c', 'echo no >&2; exit 3'] })).text).toBe(
      'event: stderr\ndata: bm8K\n\nevent: exit\ndata: {"exit_code":3}\n\n',
    );
  });

  test('silence is one event', async () => {
    expect((await exec({ argv: ['true'] })).text).toBe('event: exit\ndata: {"exit_code":0}\n\n');
  });

  test('says the limit of a command that is too long, and the way out', async () => {
    for (const headers of [{}, { 'session-id': 'long' }]) {
      const body = { argv: ['echo', 'x'.repeat(140_000)] };
      const { text } = await porthole.call('POST', `/v1/sandbox/${id}/exec`, { body, headers });
      const [stderr, exit] = readEvents(text);
      expect([stderr?.event, exit?.data]).toEqual(['stderr', '{"exit_code":126}']);
      expect(Buffer.from(stderr?.data ?? '', 'base64').toString()).toMatch(
        /at most 131071 bytes, .* 2 MiB\. Write what is long to a file .* stdin\n$/,
      );
    }
  });

  test('sends events while the command runs', async () => {
    const seen: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const outgoing = request(
        {
          port: porthole.host.port,
          host: '127.0.0.1',
          method: 'POST',
          path: `/v1/sandbox/${id}/exec`,
          headers: { 'content-type': 'application/json' },
        },
        (response) => {
          response.on('data', (chunk: Buffer) => {
            seen.push(chunk.toString());
            // The command may continue only now: without earlier output this would hang.
            if (seen.length === 1)
              porthole.call('PUT', `/v1/sandbox/${id}/file/workspace/go`, { body: '' }).catch(reject);
          });
          response.once('end', resolve);
        },
      );
      outgoing.end(
        JSON.stringify({
          argv: ['sh', '-c', 'echo first; while [ ! -e go ]; do sleep 0.02; done; echo second'],
        }),
      );
    });
    expect(readEvents(seen.join('')).map(({ event }) => event)).toEqual(['stdout', 'stdout', 'exit']);
  });

  test('ends with an error event, never with an exit code, when the sandbox is deleted meanwhile', async () => {
    const { sandboxId } = await makeRun(porthole);
    const events = new Promise<string>((resolve, reject) => {
      const outgoing = request(
        {
          port: porthole.host.port,
          host: '127.0.0.1',
          method: 'POST',
          path: `/v1/sandbox/${sandboxId}/exec`,
          headers: { 'content-type': 'application/json' },
        },
        (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => {
            if (text === '')
              porthole.call('DELETE', `/v1/sandbox/${sandboxId}`).then(() => undefined, reject);
            text += chunk.toString();
          });
          response.once('end', () => resolve(text));
          response.once('error', reject);
        },
      );
      outgoing.once('error', reject);
      outgoing.end(JSON.stringify({ argv: ['sh', '-c', 'echo up; sleep 3333'] }));
    });
    const [, last, ...rest] = readEvents(await events);
    expect(rest).toEqual([]);
    expect(last?.event).toBe('error');
    expect(JSON.parse(last?.data ?? '')).toMatchObject({ code: 'exec_transport_error' });
  });
});
