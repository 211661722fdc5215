import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { ERROR_CATALOGUE } from '#base/errors.ts';
import { ROUTES } from '#handlers/features.ts';
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
    move: () => `/v1/sandbox/${run.sandboxId}/move`,
    session: () => '/api/session',
    process: () => `/v1/sandbox/${run.sandboxId}/processes`,
    signal: () => `/v1/sandbox/${run.sandboxId}/processes/00000000000000000000000000/signal`,
  };
  const ILL_FORMED = 'must be well-formed Unicode, without lone surrogates.';

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

  const REFUSED = { code: 'invalid_request', retryable: false };

  describe('ports', () => {
    const startsOn = async (body: unknown) => {
      const answer = await refuses(() => post(paths.start(), body));
      return [answer.status, answer.json()];
    };
    test.each([
      ['0', '0'],
      ['-1', '-1'],
      ['65536', '65536'],
      ['3000.5', '3000.5'],
      ['"3000; rm"', '"3000; rm"'],
      ['"3000"', '"3000"'],
      ['null', 'null'],
      ['true', 'true'],
      ['[3000]', 'an array'],
      ['1e999', 'null'],
    ])('a start on port %s is 400 and names it', async (json, shown) => {
      const error = `target_port: must be an integer between 1 and 65535, got ${shown}.`;
      expect(await startsOn(`{"target_port":${json}}`)).toEqual([400, { error, ...REFUSED }]);
    });

    test.each([
      [{}, 'target_port is missing: it must be an integer between 1 and 65535.'],
      [
        { target_port: 3000, targetPort: 3000 },
        'target_port: send either target_port or targetPort, not both, got 3000.',
      ],
    ])('a start on %j is 400', async (body, error) => {
      expect(await startsOn(body)).toEqual([400, { error, ...REFUSED }]);
    });

    test.each([{ target_port: 2999 }, { target_port: 9001 }, { targetPort: 9001 }])(
      'a start out of range is 400 and names its port: %j',
      async (body) => {
        const [port] = Object.values(body);
        const error = `preview port must be between 3000 and 9000, got ${port}: start the server on a port in that range.`;
        expect(await startsOn(body)).toEqual([400, { error, code: 'port_out_of_range', retryable: false }]);
      },
    );
  });

  describe('bodies', () => {
    test.each<[keyof typeof paths, unknown, string | RegExp]>([
      ['runs', { title: 5 }, 'title: expected string, got 5.'],
      ['runs', { auto_approve_tools: 'yes' }, 'auto_approve_tools: expected boolean, got "yes".'],
      ['runs', { name: 'x' }, 'body: unknown field "name".'],
      ['runs', { titel: 'x' }, 'body: unknown field "titel" (did you mean "title"?).'],
      [
        'runs',
        { title: 5, sandbox_id: 6 },
        'title: expected string, got 5. sandbox_id: expected string, got 6.',
      ],
      ['runs', [], 'body: expected object, got an array.'],
      ['runs', 'null', 'body: expected object, got null.'],
      ['runs', '"x"', 'body: expected object, got "x".'],
      ['runs', '{"__proto__":{"admin":true}}', 'body: unknown field "__proto__".'],
      ['runs', '{"constructor":{"prototype":{"admin":true}}}', 'body: unknown field "constructor".'],
      ['runs', '{"title":', 'Invalid JSON body: it ends too early.'],
      ['runs', '{"title": "a",\n  "agent"}', 'Invalid JSON body, at line 2, column 10.'],
      ['runs', '\uFEFF{}', 'Invalid JSON body: it begins with a byte order mark. Send it without one.'],
      ['runs', '{"title":"\\ud800x"}', `title: ${ILL_FORMED}`],
      ['runs', '{"title":"\\uDE00\\uD83D"}', `title: ${ILL_FORMED}`],
      ['runs', '{"\\udc00":1}', `body: ${ILL_FORMED}`],
      ['sandboxes', { ttl_seconds: 1e308 }, /^ttl_seconds: [^.]*\.$/],
      ['sandboxes', { env: { PATH: '/' } }, 'env: "PATH" is set by Porthole: choose another name.'],
      ['process', {}, 'body: takes exactly one of argv and command.'],
      ['signal', { signal: 'STOP' }, /^signal: must be one of SIG\w+(, SIG\w+)*, got "STOP"\.$/],
      ['start', '{"target_port":3001,"__proto__":{"target_port":3000}}', 'body: unknown field "__proto__".'],
      ['start', { target_port: 3000, rotate: 'true' }, 'rotate: expected boolean, got "true".'],
      ['agent', {}, 'target_port is missing: it must be an integer between 1 and 65535.'],
      ['move', {}, 'from is missing. to is missing.'],
      ['session', {}, 'key is missing.'],
      ['exec', { argv: [1] }, 'argv.0: must be a string, got 1.'],
      ['exec', { argv: [''] }, 'argv[0] must not be empty'],
      ['exec', { argv: ['echo', '\0'] }, 'argv must not contain a NUL character'],
      ['exec', { argv: ['true'], timeout_ms: 0 }, 'timeout_ms: must be positive, got 0.'],
      ['exec', { argv: ['true'], timeout_ms: '1' }, 'timeout_ms: must be a number, got "1".'],
      [
        'exec',
        { argv: ['true'], timeout_ms: 2 ** 31 },
        'timeout_ms: must be at most 2147483647, got 2147483648.',
      ],
      ['sandboxes', { image: 1 }, 'image: expected string, got 1.'],
    ])('%s: 400 for %j, and the message names it', async (path, body, message) => {
      const answer = await refuses(() => post(paths[path](), body));
      const error = typeof message === 'string' ? message : expect.stringMatching(message);
      expect([answer.status, answer.json()]).toEqual([400, { error, ...REFUSED }]);
    });

    test.each([
      [
        'a title of 201 characters',
        { title: 'x'.repeat(201) },
        `title: at most 200 characters, got "${'x'.repeat(99)}….`,
      ],
      ['JSON nested 500,000 deep', '['.repeat(500_000), 'Invalid JSON body: it ends too early.'],
    ])('400 for %s', async (_name, body, error) => {
      const answer = await refuses(() => post(paths.runs(), body));
      expect([answer.status, answer.json()]).toEqual([400, { error, ...REFUSED }]);
    });

    test.each(['runs', 'sandboxes'] as const)('%s refuse an image on local', async (path) => {
      const answer = await refuses(() => post(paths[path](), { image: 'alpine' }));
      expect(outcome(answer)).toEqual([400, 'image_not_supported']);
    });

    test.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonx',
      'application',
      ';',
      'application/json, text/plain',
      'a/b/c',
    ])('answers 415 for a body with Content-Type %s', async (contentType) => {
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

  test.each([
    ['GET', 'ports/1/wait', 'POST'],
    ['DELETE', 'servers', 'GET'],
    // A method that no route has.
    ['PROPFIND', 'running', 'GET'],
  ])('answers 405 to %s …/%s, which the bridge has no answer to', async (method, path, allow) => {
    const answer = await porthole.call(method, `/v1/sandbox/${run.sandboxId}/${path}`, { token: ALICE });
    expect([...outcome(answer), answer.headers['allow']]).toEqual([405, 'method_not_allowed', allow]);
  });

  describe('queries', () => {
    const query = (text: string) => `query: ${text}`;
    test.each([
      ['/api/runs?limt=1', query('unknown parameter "limt": did you mean "limit"?')],
      ['/v1/sandbox?ownr=bob', query('unknown parameter "ownr": did you mean "owner"?')],
      ['/api/runs?sort=age', 'sort: must be one of newest, oldest, title, got "age".'],
      [
        '/api/runs?created_after=2026-03-01',
        'created_after: must be a time of RFC 3339, such as 2026-03-01T12:00:00Z, got "2026-03-01".',
      ],
      ['/api/runs?query=', query('must not be empty, got "".')],
      ['/v1/sandbox/none/search', 'text is missing.'],
      ['/v1/sandbox/none/files?depth=1e99', /^depth: [^.]*, got "1e99"\.$/],
      ['/v1/sandbox/none/archive?format=rar', 'format: must be one of tar, zip, got "rar".'],
      ['/v1/sandbox/none/search?text=', 'text: must have at least 1 character, got "".'],
      [
        `/v1/sandbox/none/search?text=${'x'.repeat(1_001)}`,
        `text: must have at most 1000 characters, got "${'x'.repeat(99)}….`,
      ],
      ['/api/approvals?colour=red', query('unknown parameter "colour": this route takes none.')],
      ['/v1/sandbox?limit=1&colour=red', /^query: unknown parameter "colour": the parameters are .*limit/],
      ['/v1/sandbox?limit=1&limit=2', query('"limit" is repeated: send it once.')],
    ])('%s is 400 and names it', async (path, message) => {
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
    /** RUN and SESSION are those of the caller, THEIRS and THEIR_SESSION of another person. */
    test.each<[method: string, path: string, status: number, code: string]>([
      ['POST', '/api/runs/THEIRS/sandbox/port-forward', 403, 'foreign_run'],
      ['POST', '/api/runs/THEIRS/sandbox/preview', 403, 'foreign_run'],
      ['POST', '/api/runs/RUN/sandbox/preview/THEIR_SESSION/keepalive', 404, 'preview_not_found'],
      ['POST', '/api/runs/RUN/sandbox/preview/SESSION./keepalive', 404, 'preview_not_found'],
      ['POST', '/api/runs/RUN/sandbox/preview/SESSION%2F..%2F/keepalive', 404, 'preview_not_found'],
      ['DELETE', '/api/runs/RUN/sandbox/port-forward/THEIR_SESSION', 404, 'preview_not_found'],
      ['DELETE', '/api/runs/RUN/sandbox/port-forward/SESSION.', 404, 'preview_not_found'],
      ['DELETE', '/api/runs/RUN/sandbox/port-forward/SESSION%00', 404, 'preview_not_found'],
      ['GET', '/api/runs/THEIRS', 403, 'foreign_run'],
      ['GET', '/api/runs/run_nothere', 404, 'run_not_found'],
      ['GET', '/api/runs/a%2Fb', 400, 'invalid_run_id'],
      ['GET', `/api/runs/${encodeURIComponent('рун')}`, 400, 'invalid_run_id'],
      ['GET', '/api/runs/%27%20OR%201=1--', 400, 'invalid_run_id'],
      ['POST', '/api/runs/THEIRS/complete', 403, 'foreign_run'],
      ['GET', '/v1/sandbox/THEIR_SANDBOX/running', 404, 'sandbox_not_found'],
      ['DELETE', '/v1/sandbox/THEIR_SANDBOX', 404, 'sandbox_not_found'],
      ['GET', '/v1/sandbox/ABC/running', 400, 'invalid_request'],
      ['GET', '/v1/sandbox/..%2F..%2Fetc/running', 400, 'invalid_request'],
      ['GET', '/api/runs?limit=0', 400, 'invalid_request'],
      ['GET', '/api/runs?limit=1001', 400, 'invalid_request'],
      ['GET', '/api/runs?limit=many', 400, 'invalid_request'],
      ['GET', '/api/runs?after=x', 400, 'invalid_request'],
      ['GET', '/api/nothing', 404, 'not_found'],
      ['PUT', '/api/runs/RUN', 405, 'method_not_allowed'],
      ['TRACE', '/v1/sandbox/SANDBOX/running', 405, 'method_not_allowed'],
      ['GET', '//api/runs', 404, 'not_found'],
      ['GET', '/v1/../api/runs', 404, 'not_found'],
      ['GET', '/api/runs/%zz', 400, 'invalid_request'],
      ['GET', '/api/runs/%ff', 400, 'invalid_request'],
      ['GET', '/v1/sandbox/SANDBOX/file/%e0%a4', 400, 'invalid_request'],
    ])('%s %s is %i %s', async (method, path, ...expected) => {
      const filled = path
        .replace('THEIR_SESSION', foreignSession)
        .replace('SESSION', session)
        .replace('THEIR_SANDBOX', foreign.sandboxId)
        .replace('SANDBOX', run.sandboxId)
        .replace('THEIRS', foreign.runId)
        .replace('RUN', run.runId);
      const body = method === 'POST' && !path.endsWith('/complete') ? { target_port: 3001 } : undefined;
      const answer = await refuses(() => porthole.call(method, filled, { token: ALICE, body }));
      expect(outcome(answer)).toEqual(expected);
    });

    test.each<[method: string, folder: string, length: number, status: number, code: string]>([
      ['DELETE', '/api/runs/RUN/sandbox/port-forward', 5_000, 400, 'invalid_request'],
      ['GET', '/api/runs', 65, 400, 'invalid_run_id'],
      ['GET', '/api/runs', 9_000, 414, 'uri_too_long'],
      ['GET', '/api/runs', 40_000, 431, 'headers_too_large'],
    ])('%s of a path in %s with %i characters is %i %s', async (method, folder, length, ...expected) => {
      const path = `${folder.replace('RUN', run.runId)}/${'a'.repeat(length)}`;
      const answer = await refuses(() => porthole.call(method, path, { token: ALICE }));
      expect(outcome(answer)).toEqual(expected);
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
