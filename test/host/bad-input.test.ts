import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { ERROR_CATALOGUE } from '#core/errors.ts';
import { ROUTES } from '#handlers/routes.ts';
import { type Answer, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { inventory } from './support/inventory.ts';
import { ALICE, BOB, PEOPLE } from './support/people.ts';
import { firstAnswer, rawExchange } from './support/raw-exchange.ts';
import { type MadeRun, makeRun, startPreview, outcome } from './support/runs.ts';

describe('bad input', () => {
  let porthole: TestHost;
  let run: MadeRun;
  let foreign: MadeRun;
  let session: string;
  let foreignSession: string;
  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE);
    run = await makeRun(porthole, ALICE);
    foreign = await makeRun(porthole, BOB);
    ({ session_id: session } = await startPreview(porthole, run.runId, 3000, ALICE));
    ({ session_id: foreignSession } = await startPreview(porthole, foreign.runId, 3000, BOB));
  });
  afterAll(() => porthole.end());

  const post = (path: string, body: unknown, contentType = 'application/json'): Promise<Answer> =>
    porthole.call('POST', path, {
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': contentType },
      token: ALICE,
    });
  const paths = {
    runs: () => '/api/runs',
    start: () => `/api/runs/${run.runId}/sandbox/port-forward`,
    agent: () => `/api/runs/${run.runId}/sandbox/preview`,
    sandboxes: () => '/v1/sandbox',
    exec: () => `/v1/sandbox/${run.sandboxId}/exec`,
  };

  /**
   * The response is an error of the catalogue, with its status, and the host's state is unchanged.
   */
  async function refuses(ask: () => Promise<Answer>): Promise<Answer> {
    const before = await inventory(porthole);
    const answer = await ask();
    const { error, code, remedy, ...rest } = answer.json<{
      error: string;
      code: keyof typeof ERROR_CATALOGUE;
      remedy?: string;
    }>();
    // What to do is a sentence; the message has it, too, but for those of the catalogue.
    if (remedy !== undefined) {
      expect(remedy).toMatch(/^[A-Z…].*[.?!]$/);
      const entry = ERROR_CATALOGUE[code];
      if (!('remedy' in entry) || entry.remedy !== remedy) expect(error).toContain(remedy.slice(1, -1));
    }
    expect(rest).toEqual({ retryable: ERROR_CATALOGUE[code].retryable });
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    // The bridge also uses this code for paths outside the workspace.
    const statuses = code === 'invalid_request' ? [400, 403] : [ERROR_CATALOGUE[code].status];
    expect(statuses).toContain(answer.status);
    expect(error.length).toBeGreaterThan(10);
    expect(await inventory(porthole)).toEqual(before);
    return answer;
  }

  describe('ports', () => {
    const inRange = 'must be an integer between 1 and 65535';
    test.each<[string, unknown, string, string]>([
      ['0', { target_port: 0 }, 'invalid_request', `target_port: ${inRange}, got 0.`],
      ['-1', { target_port: -1 }, 'invalid_request', `target_port: ${inRange}, got -1.`],
      ['65536', { target_port: 65_536 }, 'invalid_request', `target_port: ${inRange}, got 65536.`],
      ['3000.5', { target_port: 3000.5 }, 'invalid_request', `target_port: ${inRange}, got 3000.5.`],
      [
        '"3000; rm"',
        { target_port: '3000; rm' },
        'invalid_request',
        `target_port: ${inRange}, got "3000; rm".`,
      ],
      ['"3000"', { target_port: '3000' }, 'invalid_request', `target_port: ${inRange}, got "3000".`],
      ['null', { target_port: null }, 'invalid_request', `target_port: ${inRange}, got null.`],
      ['true', { target_port: true }, 'invalid_request', `target_port: ${inRange}, got true.`],
      ['an array', { target_port: [3000] }, 'invalid_request', `target_port: ${inRange}, got an array.`],
      ['none at all', {}, 'invalid_request', `target_port: ${inRange}, got nothing.`],
      ['1e999', '{"target_port":1e999}', 'invalid_request', `target_port: ${inRange}, got null.`],
      [
        'both spellings',
        { target_port: 3000, targetPort: 3000 },
        'invalid_request',
        'target_port: say either target_port or targetPort, not both, got 3000.',
      ],
      [
        '2999',
        { target_port: 2999 },
        'port_out_of_range',
        'preview port must be between 3000 and 9000, got 2999: start the server on a port in that range.',
      ],
      [
        '9001',
        { target_port: 9001 },
        'port_out_of_range',
        'preview port must be between 3000 and 9000, got 9001: start the server on a port in that range.',
      ],
      [
        '9001 in the legacy spelling',
        { targetPort: 9001 },
        'port_out_of_range',
        'preview port must be between 3000 and 9000, got 9001: start the server on a port in that range.',
      ],
    ])('a start on port %s is 400 and names it', async (_name, body, code, message) => {
      const answer = await refuses(() => post(paths.start(), body));
      expect([answer.status, answer.json()]).toEqual([400, { error: message, code, retryable: false }]);
    });
  });

  describe('bodies', () => {
    test.each<[string, keyof typeof paths, unknown, string]>([
      ['a run with a title that is a number', 'runs', { title: 5 }, 'title: expected string, got 5.'],
      [
        'a run with a title of 201 characters',
        'runs',
        { title: 'x'.repeat(201) },
        `title: at most 200 characters, got "${'x'.repeat(99)}….`,
      ],
      [
        'a run with auto_approve_tools that is text',
        'runs',
        { auto_approve_tools: 'yes' },
        'auto_approve_tools: expected boolean, got "yes".',
      ],
      ['a run with a field of another API', 'runs', { name: 'x' }, 'body: unknown field "name".'],
      [
        'a run with a misspelt field',
        'runs',
        { titel: 'x' },
        'body: unknown field "titel" (did you mean "title"?).',
      ],
      [
        'two problems at once',
        'runs',
        { title: 5, sandbox_id: 6 },
        'title: expected string, got 5. sandbox_id: expected string, got 6.',
      ],
      ['a run that is an array', 'runs', [], 'body: expected object, got an array.'],
      ['a run that is null', 'runs', 'null', 'body: expected object, got null.'],
      ['a run that is text', 'runs', '"x"', 'body: expected object, got "x".'],
      ['a run with __proto__', 'runs', '{"__proto__":{"admin":true}}', 'body: unknown field "__proto__".'],
      [
        'a run with constructor.prototype',
        'runs',
        '{"constructor":{"prototype":{"admin":true}}}',
        'body: unknown field "constructor".',
      ],
      [
        'a start with __proto__ for its port',
        'start',
        '{"target_port":3001,"__proto__":{"target_port":3000}}',
        'body: unknown field "__proto__".',
      ],
      [
        'a start with rotate that is text',
        'start',
        { target_port: 3000, rotate: 'true' },
        'rotate: expected boolean, got "true".',
      ],
      [
        'the agent’s start without a port',
        'agent',
        {},
        'target_port: must be an integer between 1 and 65535, got nothing.',
      ],
      ['exec without argv', 'exec', {}, 'argv must be a non-empty array'],
      ['exec with an empty argv', 'exec', { argv: [] }, 'argv must be a non-empty array'],
      ['exec with argv of numbers', 'exec', { argv: [1] }, 'argv.0: must be a string, got 1.'],
      ['exec with an empty program', 'exec', { argv: [''] }, 'argv[0] must not be empty'],
      ['exec with a NUL', 'exec', { argv: ['echo', '\0'] }, 'argv must not contain a NUL character'],
      [
        'exec with a time limit of 0',
        'exec',
        { argv: ['true'], timeout_ms: 0 },
        'timeout_ms: must be positive, got 0.',
      ],
      [
        'exec with a time limit that is text',
        'exec',
        { argv: ['true'], timeout_ms: '1' },
        'timeout_ms: must be a number, got "1".',
      ],
      [
        'exec with a time limit past 24 days',
        'exec',
        { argv: ['true'], timeout_ms: 2 ** 31 },
        'timeout_ms: must be at most 2147483647, got 2147483648.',
      ],
      [
        'a sandbox with an image that is a number',
        'sandboxes',
        { image: 1 },
        'image: expected string, got 1.',
      ],
      ['JSON that is cut off', 'runs', '{"title":', 'Invalid JSON body'],
      ['JSON nested 500,000 deep', 'runs', '['.repeat(500_000), 'Invalid JSON body'],
    ])('%s: 400, and the message names it', async (_name, path, body, message) => {
      const answer = await refuses(() => post(paths[path](), body));
      expect([answer.status, answer.json()]).toEqual([
        400,
        { error: message, code: 'invalid_request', retryable: false },
      ]);
    });

    test.each<[string, string, string, unknown, [number, string]]>([
      ['cwd outside the workspace', 'exec', '', { argv: ['true'], cwd: '/etc' }, [403, 'invalid_request']],
      ['cwd that climbs out', 'exec', '', { argv: ['true'], cwd: '../..' }, [403, 'invalid_request']],
      ['an image on local', 'runs', '', { image: 'alpine' }, [400, 'image_not_supported']],
      ['an image on local', 'sandboxes', '', { image: 'alpine' }, [400, 'image_not_supported']],
    ])('%s (%s) is refused', async (_name, path, _none, body, expected) => {
      expect(outcome(await refuses(() => post(paths[path as keyof typeof paths](), body)))).toEqual(expected);
    });

    test.each([
      ['text/plain', 'text/plain'],
      ['a form', 'application/x-www-form-urlencoded'],
      ['a multipart form', 'multipart/form-data; boundary=x'],
      ['something that begins like JSON', 'application/jsonx'],
      ['a malformed one', 'application'],
      ['a semicolon alone', ';'],
      ['two at once', 'application/json, text/plain'],
      ['one with three parts', 'a/b/c'],
    ])('answers 415 for a body with Content-Type %s', async (_name, contentType) => {
      const answer = await refuses(() => post(paths.runs(), '{}', contentType));
      expect([answer.status, answer.json()]).toEqual([
        415,
        {
          error: `The body must be JSON, but its Content-Type is ${JSON.stringify(contentType)}: send Content-Type: application/json.`,
          code: 'unsupported_media_type',
          retryable: false,
          remedy: 'Send Content-Type: application/json.',
        },
      ]);
    });

    test('are rejected with 415 without Content-Type', async () => {
      const answer = await refuses(() => porthole.call('POST', '/api/runs', { body: '{}', token: ALICE }));
      expect(outcome(answer)).toEqual([415, 'unsupported_media_type']);
    });

    test.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/ld+json'])(
      'are read as JSON with Content-Type %s',
      async (contentType) => {
        expect(outcome(await refuses(() => post(paths.runs(), '{', contentType)))).toEqual([
          400,
          'invalid_request',
        ]);
      },
    );
  });

  test.each([
    ['text/html,application/xhtml+xml,*/*;q=0.8', '/nowhere', 'text/html; charset=utf-8'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', '/api/nowhere', 'application/json'],
    ['*/*', '/nowhere', 'application/json'],
  ])('answers 404 to Accept %s at %s in the form %s', async (accept, path, type) => {
    const answer = await porthole.call('GET', path, { headers: { accept } });
    expect([answer.status, answer.headers['content-type']]).toEqual([404, type]);
    expect(answer.headers['etag']).toBeUndefined();
  });

  describe('queries', () => {
    test.each([
      ['a misspelt one', '/api/runs?limt=1', 'query: unknown parameter "limt": did you mean "limit"?'],
      ['a misspelt filter', '/v1/sandbox?ownr=bob', 'query: unknown parameter "ownr": did you mean "owner"?'],
      ['an unknown order', '/api/runs?sort=age', 'sort: must be one of newest, oldest, title, got "age".'],
      [
        'a time without a zone',
        '/api/runs?created_after=2026-03-01',
        'created_after: must be a time of RFC 3339, such as 2026-03-01T12:00:00Z, got "2026-03-01".',
      ],
      ['an empty text', '/api/runs?query=', 'query: must not be empty, got "".'],
      [
        'a search for nothing',
        '/v1/sandbox/none/search?text=',
        'text: must have at least 1 character, got "".',
      ],
      [
        'a search for a long text',
        `/v1/sandbox/none/search?text=${'x'.repeat(1_001)}`,
        `text: must have at most 1000 characters, got "${'x'.repeat(99)}….`,
      ],
      [
        'one of another API',
        '/api/approvals?colour=red',
        'query: unknown parameter "colour": this route takes none.',
      ],
      [
        'one beside those that are known',
        '/v1/sandbox?limit=1&colour=red',
        /^query: unknown parameter "colour": the parameters are .*limit/,
      ],
      [
        'one more of one',
        '/v1/sandbox?limit=1&limit=2',
        'query: "limit" is there more than once: say it once.',
      ],
    ])('%s is 400 and names it', async (_name, path, message) => {
      const answer = await refuses(() => porthole.call('GET', path, { token: ALICE }));
      expect(answer.status).toBe(400);
      expect(answer.json()['error']).toEqual(
        typeof message === 'string' ? message : expect.stringMatching(message),
      );
    });

    test('are ignored on bridge routes if they are unknown, as bridge clients expect', async () => {
      const answer = await porthole.call('GET', `/v1/sandbox/${run.sandboxId}/running?colour=red`, {
        token: ALICE,
      });
      expect(answer.json()).toEqual({ running: true });
    });
  });

  test('refuses an unknown field in every JSON body of our own routes', () => {
    const lenient = ROUTES.filter(({ bridge, body }) => {
      if (bridge === true || body === undefined || body === 'stream' || 'form' in body) return false;
      const { error } = body.safeParse({ zzz: 1 });
      return error?.issues.some(({ code }) => code === 'unrecognized_keys') !== true;
    });
    // JSON-RPC messages follow the protocol, and may carry fields of later versions.
    expect(lenient.map(({ id }) => id)).toEqual(['callMcp']);
  });

  describe('a JSON body of 10 MB', () => {
    const head = (framing: string) =>
      `POST /api/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ALICE}\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`;
    const after = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const ten = Buffer.alloc(10 * 1024 * 1024, ' ');

    test('is 413 before a byte of it has been sent', async () => {
      const socket = connect(porthole.host.port, '127.0.0.1');
      socket.write(head(`Content-Length: ${ten.length}`));
      const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
      socket.destroy();
      expect(firstAnswer(first.toString())).toMatchObject({
        status: 413,
        body: { code: 'payload_too_large' },
      });
    });

    test.each<[string, string, () => Buffer]>([
      ['with a length', `Content-Length: ${ten.length}`, () => ten],
      [
        'in chunks',
        'Transfer-Encoding: chunked',
        () => Buffer.concat([Buffer.from('a00000\r\n'), ten, Buffer.from('\r\n0\r\n\r\n')]),
      ],
    ])('%s is 413, and the next request on the connection is answered', async (_name, framing, body) => {
      const before = await inventory(porthole);
      const text = await rawExchange(
        porthole.host.port,
        Buffer.concat([Buffer.from(head(framing)), body(), Buffer.from(after)]),
      );
      expect(firstAnswer(text)).toMatchObject({
        status: 413,
        body: { code: 'payload_too_large' },
        answers: 2,
      });
      expect(text).toContain('HTTP/1.1 200 OK');
      expect(await inventory(porthole)).toEqual(before);
    });

    test('is rejected with 401 without a credential, and nothing of it is parsed', async () => {
      const answer = await porthole.call('POST', '/api/runs', {
        body: ten,
        headers: { 'content-type': 'application/json' },
      });
      expect(outcome(answer)).toEqual([401, 'unauthorized']);
    });
  });

  describe('runs and tokens', () => {
    test.each<[string, string, () => string, [number, string]]>([
      [
        'the start of a foreign run',
        'POST',
        () => `/api/runs/${foreign.runId}/sandbox/port-forward`,
        [403, 'foreign_run'],
      ],
      [
        'the agent’s start of a foreign run',
        'POST',
        () => `/api/runs/${foreign.runId}/sandbox/preview`,
        [403, 'foreign_run'],
      ],
      [
        'the keepalive of another run’s token',
        'POST',
        () => `/api/runs/${run.runId}/sandbox/preview/${foreignSession}/keepalive`,
        [404, 'preview_not_found'],
      ],
      [
        'the keepalive of a token with a trailing dot',
        'POST',
        () => `/api/runs/${run.runId}/sandbox/preview/${session}./keepalive`,
        [404, 'preview_not_found'],
      ],
      [
        'the keepalive of an encoded path',
        'POST',
        () => `/api/runs/${run.runId}/sandbox/preview/${session}%2F..%2F/keepalive`,
        [404, 'preview_not_found'],
      ],
      [
        'the stop of another run’s token',
        'DELETE',
        () => `/api/runs/${run.runId}/sandbox/port-forward/${foreignSession}`,
        [404, 'preview_not_found'],
      ],
      [
        'the stop of a token with a trailing dot',
        'DELETE',
        () => `/api/runs/${run.runId}/sandbox/port-forward/${session}.`,
        [404, 'preview_not_found'],
      ],
      [
        'the stop of a token with a NUL',
        'DELETE',
        () => `/api/runs/${run.runId}/sandbox/port-forward/${session}%00`,
        [404, 'preview_not_found'],
      ],
      [
        'the stop of a token of 5,000 characters',
        'DELETE',
        () => `/api/runs/${run.runId}/sandbox/port-forward/${'a'.repeat(5000)}`,
        [400, 'invalid_request'],
      ],
      ['a foreign run', 'GET', () => `/api/runs/${foreign.runId}`, [403, 'foreign_run']],
      ['an unknown run', 'GET', () => '/api/runs/run_nothere', [404, 'run_not_found']],
      ['a run id of 65 characters', 'GET', () => `/api/runs/${'a'.repeat(65)}`, [400, 'invalid_run_id']],
      ['a run id with a slash', 'GET', () => '/api/runs/a%2Fb', [400, 'invalid_run_id']],
      [
        'a run id in Cyrillic',
        'GET',
        () => `/api/runs/${encodeURIComponent('рун')}`,
        [400, 'invalid_run_id'],
      ],
      ['a run id that is a quote', 'GET', () => '/api/runs/%27%20OR%201=1--', [400, 'invalid_run_id']],
      ['completing a foreign run', 'POST', () => `/api/runs/${foreign.runId}/complete`, [403, 'foreign_run']],
      [
        'a foreign sandbox',
        'GET',
        () => `/v1/sandbox/${foreign.sandboxId}/running`,
        [404, 'sandbox_not_found'],
      ],
      [
        'deleting a foreign sandbox',
        'DELETE',
        () => `/v1/sandbox/${foreign.sandboxId}`,
        [404, 'sandbox_not_found'],
      ],
      ['a sandbox id in capitals', 'GET', () => '/v1/sandbox/ABC/running', [400, 'invalid_request']],
      [
        'a sandbox id that climbs',
        'GET',
        () => '/v1/sandbox/..%2F..%2Fetc/running',
        [400, 'invalid_request'],
      ],
      ['a page of 0 runs', 'GET', () => '/api/runs?limit=0', [400, 'invalid_request']],
      ['a page of 1001 runs', 'GET', () => '/api/runs?limit=1001', [400, 'invalid_request']],
      ['a page of many runs', 'GET', () => '/api/runs?limit=many', [400, 'invalid_request']],
      ['a page after something else', 'GET', () => '/api/runs?after=x', [400, 'invalid_request']],
      ['a route that is not there', 'GET', () => '/api/nothing', [404, 'not_found']],
      ['a method that is not there', 'PUT', () => `/api/runs/${run.runId}`, [405, 'method_not_allowed']],
      ['a path with two slashes', 'GET', () => '//api/runs', [404, 'not_found']],
      ['a path with dots', 'GET', () => '/v1/../api/runs', [404, 'not_found']],
      ['broken percent-encoding', 'GET', () => '/api/runs/%zz', [400, 'invalid_request']],
      ['percent-encoding that is no UTF-8', 'GET', () => '/api/runs/%ff', [400, 'invalid_request']],
      [
        'broken percent-encoding of a file',
        'GET',
        () => `/v1/sandbox/${run.sandboxId}/file/%e0%a4`,
        [400, 'invalid_request'],
      ],
      ['a run id of 9,000 characters', 'GET', () => `/api/runs/${'a'.repeat(9000)}`, [414, 'uri_too_long']],
      [
        'a URL of 40,000 characters',
        'GET',
        () => `/api/runs/${'a'.repeat(40_000)}`,
        [431, 'headers_too_large'],
      ],
    ])('%s', async (_name, method, path, expected) => {
      const body = method === 'POST' && !path().endsWith('/complete') ? { target_port: 3001 } : undefined;
      const answer = await refuses(() =>
        porthole.call(method, path(), { token: ALICE, ...(body === undefined ? {} : { body }) }),
      );
      expect(outcome(answer)).toEqual(expected);
    });
  });

  describe('on the wire', () => {
    const api = (lines: string, first = 'GET /health HTTP/1.1', host = 'Host: localhost\r\n') =>
      `${first}\r\n${host}${lines}\r\n`;
    test.each<[string, () => string, number, string]>([
      ['two Hosts', () => api('Host: localhost\r\n'), 400, 'invalid_request'],
      ['no Host', () => api('', 'GET /health HTTP/1.1', ''), 400, 'invalid_request'],
      [
        'a Host with a path',
        () => api('', 'GET /health HTTP/1.1', 'Host: localhost/x\r\n'),
        400,
        'invalid_request',
      ],
      ['an unknown Host', () => api('', 'GET /health HTTP/1.1', 'Host: evil.test\r\n'), 403, 'unknown_host'],
      [
        'a Host with a trailing dot',
        () => api('', 'GET /health HTTP/1.1', 'Host: localhost.\r\n'),
        403,
        'unknown_host',
      ],
      [
        'a preview host with a trailing dot',
        () => api('', 'GET / HTTP/1.1', `Host: ${session}-preview.localhost.\r\n`),
        403,
        'unknown_host',
      ],
      ['HTTP/2 without TLS', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'invalid_request'],
      [
        'CONNECT',
        () => 'CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n',
        405,
        'method_not_allowed',
      ],
      [
        'a full URL as the target',
        () => api('', 'GET http://localhost/health HTTP/1.1'),
        400,
        'invalid_request',
      ],
      ['32 KiB of headers', () => api(`X-Large: ${'x'.repeat(33_000)}\r\n`), 431, 'headers_too_large'],
      ['300 headers', () => api('X-Many: x\r\n'.repeat(300)), 431, 'headers_too_large'],
      ['a header without a colon', () => api('nonsense\r\n'), 400, 'invalid_request'],
      ['bytes of TLS', () => '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1', 400, 'invalid_request'],
      ['a WebSocket on the API', () => upgrade('localhost'), 404, 'not_found'],
      ['a WebSocket on an unknown Host', () => upgrade('evil.test'), 403, 'unknown_host'],
      [
        'a WebSocket for an unknown token',
        () => upgrade(`no-such-token-${'a'.repeat(26)}-preview.localhost`),
        404,
        'unknown',
      ],
      [
        'a WebSocket for a host of the zone that names no token',
        () => upgrade('x-preview.localhost'),
        404,
        'unknown',
      ],
    ])('%s is refused once, and the connection ends', async (_name, bytes, status, code) => {
      const before = await inventory(porthole);
      expect(firstAnswer(await rawExchange(porthole.host.port, bytes()))).toMatchObject({
        status,
        body: { code },
        answers: 1,
      });
      expect(await inventory(porthole)).toEqual(before);
    });
  });

  test('creates nothing from a JSON body that is cut off, and logs no error of ours', async () => {
    const before = await inventory(porthole);
    const socket = connect(porthole.host.port, '127.0.0.1');
    socket.write(
      `POST /api/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ALICE}\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('data', resolve));
    const logged = porthole.logged.length;
    socket.end('{"title":');
    await new Promise((resolve) => socket.once('close', resolve));
    for (let tries = 0; tries < 400 && porthole.logged.length === logged; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(
      porthole.logged.slice(logged).map((line) => (JSON.parse(line) as { level: string }).level),
    ).not.toContain('error');
    expect(porthole.logged.length).toBeGreaterThan(logged);
    expect(await inventory(porthole)).toEqual(before);
  });

  test('answers after all of this bad input', async () => {
    expect((await porthole.call('GET', '/health')).json()).toMatchObject({ ok: true });
    expect(porthole.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });
});

function upgrade(host: string): string {
  return `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;
}
