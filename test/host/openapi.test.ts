import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ERROR_CATALOGUE } from '#base/errors.ts';
import { VERSION } from '#handlers/route.ts';
import { ROUTES } from '#handlers/features.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { matchesSchema, type JsonSchema, type OpenApiDocument } from './support/json-schema.ts';
import { makeRun, startPreview, stopSandbox } from './support/runs.ts';

describe('the OpenAPI document', () => {
  let porthole: TestHost;
  let document: OpenApiDocument;
  beforeAll(async () => {
    porthole = await startTestHost();
    document = (await porthole.call('GET', '/v1/openapi.json')).json<OpenApiDocument>();
  });
  afterAll(() => porthole.end());

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );

  test('is OpenAPI 3.1 with a title, a version and a licence', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info).toMatchObject({
      title: 'Porthole',
      version: VERSION,
      license: { name: 'Apache-2.0' },
    });
  });

  test('has every route, and nothing else', () => {
    const served = ROUTES.map(({ method, path }) => `${method} ${path}`).sort();
    expect(
      operations()
        .map(({ method, path }) => `${method.toUpperCase()} ${path}`)
        .sort(),
    ).toEqual(served);
  });

  test('names every path parameter once, as required', () => {
    for (const { path, operation } of operations()) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter((each) => each.in === 'path');
      expect(declared.map(({ name }) => name)).toEqual(named);
      expect(declared.every(({ required }) => required)).toBe(true);
    }
  });

  test('gives every operation a unique id, a summary, a tag and a success', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operation } of operations()) {
      expect(operation.summary).toMatch(/\w/);
      expect(operation.tags).toHaveLength(1);
      expect(Object.keys(operation.responses).some((status) => /^(?:101|[23]\d\d)$/.test(status))).toBe(true);
      for (const response of Object.values(operation.responses)) expect(response.description).toMatch(/\w/);
    }
  });

  test('resolves every reference, and uses every component', () => {
    const text = JSON.stringify(document);
    const used = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, target]) => target));
    for (const target of used) expect(target).toMatch(/^#\/components\/schemas\/\w+$/);
    expect(new Set([...used].map((target) => target?.split('/').at(-1)))).toEqual(
      new Set(Object.keys(document.components.schemas)),
    );
  });

  test('documents errors with codes of the catalogue under their own status', () => {
    for (const { operation } of operations()) {
      for (const [status, { description }] of Object.entries(operation.responses)) {
        // MCP's own status, in JSON-RPC's format.
        if (Number(status) < 400 || status === '406') continue;
        const codes = [...description.matchAll(/`(\w+)`/g)].map(
          ([, code]) => code as keyof typeof ERROR_CATALOGUE,
        );
        expect(codes.length).toBeGreaterThan(0);
        for (const code of codes) expect(ERROR_CATALOGUE[code].status).toBe(Number(status));
      }
    }
  });

  test('says that a key is needed only where one is configured', async () => {
    const secured = await startTestHost({ SANDBOX_API_KEY: 'service-key-0123456789' });
    const other = (
      await secured.call('GET', '/v1/openapi.json', { token: 'service-key-0123456789' })
    ).json<OpenApiDocument>();
    await secured.end();
    expect(document.security).toEqual([]);
    expect(other.security).toEqual([{ BearerAuth: [] }]);
    expect(other.paths['/health']?.['get']?.security).toEqual([]);
  });

  describe('answers are as documented', () => {
    const asDocumented = async (
      template: string,
      method: string,
      parameters: Record<string, string>,
      body?: unknown,
      headers: Record<string, string> = {},
    ): Promise<number> => {
      const path = template.replace(/\{(\w+)\}/g, (_all, name: string) => parameters[name] ?? '');
      const answer = await porthole.call(method, path, body === undefined ? { headers } : { body, headers });
      const documented = document.paths[template]?.[method.toLowerCase()]?.responses[String(answer.status)];
      expect([template, answer.status, documented === undefined]).toEqual([template, answer.status, false]);
      const isJson = answer.headers['content-type'] === 'application/json';
      const schema = documented?.content?.['application/json']?.schema;
      if (schema !== undefined && isJson && answer.text !== '')
        expect([template, matchesSchema(answer.json<unknown>(), schema, document)]).toEqual([template, []]);
      return answer.status;
    };

    test('successes', async () => {
      const { runId, sandboxId } = await makeRun(porthole);
      const { session_id } = await startPreview(porthole, runId, 3000);
      const of = { id: runId, token: session_id, sessionId: session_id };
      const inSandbox = { id: sandboxId, path: 'workspace/a' };
      expect([
        await asDocumented('/api/runs', 'POST', {}, {}),
        await asDocumented('/api/runs', 'GET', {}),
        await asDocumented('/api/runs/{id}', 'GET', of),
        await asDocumented('/api/runs/{id}/sandbox/port-forward', 'POST', of, { target_port: 3001 }),
        await asDocumented('/api/runs/{id}/sandbox/port-forward', 'GET', of),
        await asDocumented('/api/runs/{id}/sandbox/preview/{token}/keepalive', 'POST', of),
        await asDocumented('/api/runs/{id}/sandbox/port-forward/{sessionId}', 'DELETE', of),
        await asDocumented('/api/runs/{id}/complete', 'POST', of),
        await asDocumented('/api/runs/{id}/timeline', 'GET', of),
        await asDocumented('/api/runs/{id}/activity', 'GET', of),
        await asDocumented('/api/approval-policies', 'GET', {}),
        await asDocumented('/v1/sandbox', 'POST', {}, {}),
        await asDocumented('/v1/sandbox/{id}/running', 'GET', inSandbox),
        await asDocumented('/v1/sandbox/{id}/exec', 'POST', inSandbox, { argv: ['true'] }),
        await asDocumented(
          '/v1/sandbox/{id}/exec',
          'POST',
          inSandbox,
          { argv: ['true'] },
          { accept: 'application/json' },
        ),
        await asDocumented('/v1/sandbox/{id}/file/{path}', 'PUT', inSandbox, 'x'),
        await asDocumented('/v1/sandbox/{id}/file/{path}', 'GET', inSandbox),
        await asDocumented('/v1/sandbox/{id}', 'DELETE', inSandbox),
        await asDocumented('/health', 'GET', {}),
        await asDocumented('/metrics', 'GET', {}),
        await asDocumented('/v1/openapi.json', 'GET', {}),
        await asDocumented('/v1/openapi', 'GET', {}),
        await asDocumented('/v1/openapi.html', 'GET', {}),
        await asDocumented('/v1/openapi/assets/{name}', 'GET', { name: 'start.js' }),
      ]).toEqual([
        201, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 204, 200, 200,
        200, 200, 200, 200,
      ]);
    });

    test('errors', async () => {
      const { runId, sandboxId } = await makeRun(porthole);
      for (const port of [3000, 3001, 3002]) await startPreview(porthole, runId, port);
      const gone = await makeRun(porthole);
      await porthole.call('DELETE', `/v1/sandbox/${gone.sandboxId}`);
      const stopped = await makeRun(porthole);
      await stopSandbox(porthole, stopped.sandboxId);
      const of = { id: runId, token: 'no-such-token', sessionId: 'no-such-token' };
      const inSandbox = { id: sandboxId, path: 'workspace/nothing' };
      const start = '/api/runs/{id}/sandbox/port-forward';
      const file = '/v1/sandbox/{id}/file/{path}';
      expect([
        await asDocumented('/api/runs', 'POST', {}, { title: 5 }),
        await asDocumented('/api/runs', 'POST', {}, 'not json'),
        await asDocumented('/api/runs', 'POST', {}, { sandbox_id: 'a'.repeat(26) }),
        await asDocumented('/api/runs', 'POST', {}, Buffer.alloc(2_000_000)),
        await asDocumented('/api/runs', 'GET', {}),
        await asDocumented('/api/runs/{id}', 'GET', { id: 'run_nothere' }),
        await asDocumented(start, 'POST', of, { target_port: 2999 }),
        await asDocumented(start, 'POST', of, { target_port: 3003 }),
        await asDocumented(start, 'POST', { id: gone.runId }, { target_port: 3000 }),
        await asDocumented('/api/runs/{id}/sandbox/preview', 'POST', of, { target_port: 3003 }),
        await asDocumented('/api/runs/{id}/tool-approvals', 'POST', of, {
          request_id: 'x',
          decision: 'deny',
        }),
        await asDocumented('/api/approval-policies/{id}', 'DELETE', { id: 'pol_none' }),
        await asDocumented('/api/runs/{id}/timeline', 'GET', { id: 'run_nothere' }),
        await asDocumented('/api/runs/{id}/events', 'GET', { id: 'run_nothere' }),
        await asDocumented('/api/runs/{id}/sandbox/preview/{token}/keepalive', 'POST', of),
        await asDocumented('/api/runs/{id}/sandbox/port-forward/{sessionId}', 'DELETE', of),
        await asDocumented('/v1/sandbox', 'POST', {}, { image: 'alpine' }),
        await asDocumented('/v1/sandbox/{id}/running', 'GET', { id: 'NO' }),
        await asDocumented('/v1/sandbox/{id}/exec', 'POST', inSandbox, { argv: [] }),
        await asDocumented('/v1/sandbox/{id}/exec', 'POST', { id: stopped.sandboxId }, { argv: ['true'] }),
        await asDocumented(file, 'GET', inSandbox),
        await asDocumented(file, 'GET', { id: sandboxId, path: 'etc/passwd' }),
        await asDocumented(file, 'PUT', { id: sandboxId, path: 'workspace' }, 'x'),
        await asDocumented(file, 'GET', { id: stopped.sandboxId, path: 'workspace/x' }),
        await asDocumented('/v1/openapi/assets/{name}', 'GET', { name: '..%2Fpackage.json' }),
      ]).toEqual([
        400, 415, 404, 413, 200, 404, 400, 429, 409, 429, 404, 404, 404, 404, 404, 404, 400, 400, 400, 200,
        404, 403, 400, 404, 404,
      ]);
    });
  });

  test('proves that the schema check does not accept everything', () => {
    const schema: JsonSchema = { $ref: '#/components/schemas/Run' };
    expect(matchesSchema({ run_id: 5 }, schema, document)).toContain('$.run_id: not a string');
    expect(matchesSchema(null, schema, document)).toEqual(['$: not an object']);
  });
});

describe('the page of the API', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost();
  });
  afterAll(() => porthole.end());

  test.each(['/v1/openapi', '/v1/openapi.html'])('%s needs nothing from the internet', async (path) => {
    const page = await porthole.call('GET', path);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.text).not.toMatch(/(?:https?:)?\/\/[a-z]/i);
    const wanted = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, target]) => target ?? '');
    expect(wanted.length).toBeGreaterThanOrEqual(3);
    for (const target of wanted) expect((await porthole.call('GET', target)).status).toBe(200);
  });

  test('has a policy that allows no content from elsewhere, and no frame around it', async () => {
    const { headers } = await porthole.call('GET', '/v1/openapi');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe-eval');
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(headers['x-content-type-options']).toBe('nosniff');
  });

  test.each([
    ['page.css', 'text/css; charset=utf-8'],
    ['api-viewer.js', 'text/javascript; charset=utf-8'],
    ['start.js', 'text/javascript; charset=utf-8'],
  ])('serves its asset %s as %s', async (name, type) => {
    const asset = await porthole.call('GET', `/v1/openapi/assets/${name}`);
    expect([asset.status, asset.headers['content-type']]).toEqual([200, type]);
    expect(asset.text.length).toBeGreaterThan(200);
  });

  test.each(['__proto__', 'constructor', 'package.json', '..%2F..%2Fpackage.json', 'page.css%00'])(
    'has no asset %s',
    async (name) => {
      expect((await porthole.call('GET', `/v1/openapi/assets/${name}`)).status).toBe(404);
    },
  );
});
