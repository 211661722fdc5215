/** Servers in the place of the code interpreter that mean no good. Any code can be one. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { declareCodeServer } from './support/code-server.ts';
import { ALICE, PEOPLE } from './support/people.ts';

jest.setTimeout(60_000);

let porthole: TestHost;
let cache: string;
const known = process.env['PORTHOLE_CACHE_DIR'];
beforeAll(async () => {
  // A machine on which no code interpreter is installed.
  cache = await mkdtemp(join(tmpdir(), 'porthole-no-code-'));
  process.env['PORTHOLE_CACHE_DIR'] = cache;
  porthole = await startTestHost(PEOPLE);
});
afterAll(async () => {
  if (known === undefined) delete process.env['PORTHOLE_CACHE_DIR'];
  else process.env['PORTHOLE_CACHE_DIR'] = known;
  await porthole?.end();
  await rm(cache, { recursive: true });
});

async function newSandbox(): Promise<string> {
  const made = await porthole.call('POST', '/v1/sandbox', { token: ALICE, body: {} });
  return made.json<{ id: string }>().id;
}

/** What a run answers, whole. */
async function run(id: string, accept = 'application/json', more: object = {}) {
  const headers = { accept };
  return porthole.call('POST', `/v1/sandbox/${id}/code`, {
    token: ALICE,
    headers,
    body: { code: '1', ...more },
  });
}

test('says what is missing, and the command that installs it', async () => {
  const answer = await run(await newSandbox());
  expect(answer.status).toBe(501);
  expect(answer.json()).toMatchObject({
    code: 'code_interpreter_missing',
    error: expect.stringContaining('npm run code:install'),
  });
});

describe('an answer that breaks the protocol', () => {
  test.each([
    ['is no JSON', `response.end('hello\\n')`],
    ['is no object', `response.end('[1]\\n')`],
    ['has an unknown line', `response.end('{"type":"other"}\\n')`],
    ['has a field of another type', `response.end('{"type":"stdout","text":{},"timestamp":0}\\n')`],
    ['has a line of 9 MiB', `response.end('"' + 'x'.repeat(9 * 2 ** 20) + '"\\n')`],
    ['has a line without an end', `const more = () => response.write('x'.repeat(2 ** 16), more); more()`],
    ['is nested a thousand times', `response.end('{"type":"result","json":' + '['.repeat(1000) + '\\n')`],
    ['has two million values', `response.end('{"type":"result","json":[' + '1,'.repeat(2e6) + '1]}\\n')`],
    ['has no end', `response.end('{"type":"stdout","text":"a","timestamp":0}\\n')`],
    ['is cut', `response.write('{"type":'); setTimeout(() => response.destroy(), 100)`],
    ['is no HTTP', `request.socket.end('hello')`],
    ['refuses without a reason', `response.writeHead(500).end('<html>')`],
    ['refuses with a long reason', `response.writeHead(404).end('x'.repeat(1e6))`],
  ])('%s: it is an error of the connection', async (_what, answer) => {
    const id = await newSandbox();
    await declareCodeServer(porthole, id, ALICE, answer);
    const whole = await run(id);
    expect(whole.json()).toMatchObject({ code: 'exec_transport_error' });
    expect(whole.status).toBe(502);
    const streamed = await run(id, 'text/event-stream');
    expect(streamed.text).toMatch(/"code":"exec_transport_error"/);
    expect(streamed.text).not.toContain('event: end');
  });

  test('lists too many contexts', async () => {
    const id = await newSandbox();
    const context = `{ id: 'a', language: 'b', cwd: 'c' }`;
    await declareCodeServer(porthole, id, ALICE, `response.end(JSON.stringify(Array(101).fill(${context})))`);
    const answer = await porthole.call('GET', `/v1/sandbox/${id}/code/contexts`, { token: ALICE });
    expect(answer.json()).toMatchObject({ code: 'exec_transport_error' });
  });
});

test('ends code that never answers at its time limit', async () => {
  const id = await newSandbox();
  await declareCodeServer(porthole, id, ALICE, `if (request.url !== '/execute') response.end()`);
  const answer = await run(id, 'application/json', { timeout_ms: 500 });
  expect(answer.json()).toMatchObject({ exception: { name: 'TimeoutError' }, results: [] });
});

test('refuses a credential that may run only some commands', async () => {
  const id = await newSandbox();
  await declareCodeServer(porthole, id, ALICE);
  const made = await porthole.call('POST', `/v1/sandbox/${id}/delegate`, {
    token: ALICE,
    body: { scopes: ['exec'], commands: ['ls'] },
  });
  const { token } = made.json<{ token: string }>();
  const refused = await porthole.call('POST', `/v1/sandbox/${id}/code`, { token, body: { code: '1' } });
  expect({ made: made.status, refused: refused.status }).toEqual({ made: 201, refused: 403 });
});
