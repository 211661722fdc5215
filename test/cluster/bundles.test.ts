/**
 * The functions as `npm run build` produces them, invoked as API Gateway and EventBridge do, on a
 * real API server and a real database.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { previewName } from '#core/previews/preview-token.ts';
import { PREVIEW_TOKEN_PATTERN } from '#protocol/preview-words.ts';
import { ANNOTATIONS, formatTime, LABELS, timeSlot } from '#constructs/names.ts';
import { ROUTES } from '#handlers/features.ts';
import { routeRow } from '#host/server/router.ts';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { builtFunctions } from '#test/support/built-functions.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';
import { gatewayEvent } from '../host/serverless/gateway-events.ts';
import { GATEWAY_ZONE } from './fixture/fixture-plan.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { FIXTURE_GATEWAY } from './fixture/objects.ts';
import { type FunctionProcess, functionProcess } from './bundles/function-process.ts';
import { gatewayClient, type GatewayClient } from './end-to-end/gateway-client.ts';

const namespace = `bundles-${randomBytes(4).toString('hex')}`;
const MINUTE = 60_000;
const KEY = 'service-key-of-the-bundles';
const DATA_PLANE = 'https://porthole.example.com';
const PORT = 4000;

/** E2B's clients expect the status once more, and Connect's own code from Connect's services. */
function unauthorizedCode(id: string): string | number {
  if (id === 'e2bProcess' || id === 'e2bFilesystem') return 'unauthenticated';
  return id.startsWith('e2b') ? 401 : 'unauthorized';
}

interface Result {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

interface Preview {
  readonly session_id: string;
  readonly preview_url: string;
  readonly expires_at: string;
  readonly ready?: boolean;
}

suite('the bundled functions', missing() ?? postgresMissing, () => {
  let fixture: Cluster;
  let folder: string;
  let postgres: TestPostgres;
  let runtime: FunctionProcess;
  let people: GatewayClient;

  beforeAll(async () => {
    fixture = await cluster();
    await fixture.kubectl(['create', 'namespace', namespace]);
    [folder, postgres] = await Promise.all([builtFunctions(), startPostgres(), importSandboxImage(fixture)]);
    const { https, caFile } = fixture.gateway;
    people = gatewayClient(https.host, caFile);
    runtime = functionProcess({
      KUBECONFIG: fixture.kubeconfig,
      DATABASE_URL: postgres.url,
      PORTHOLE_PROVIDER: 'kubernetes',
      PORTHOLE_SANDBOX_IMAGE: SANDBOX_IMAGE,
      PORTHOLE_PUBLIC_URL: DATA_PLANE,
      PORTHOLE_SIGNING_KEYS: JSON.stringify({
        keys: [{ kty: 'oct', kid: 'one', k: randomBytes(32).toString('base64url') }],
      }),
      SANDBOX_API_KEY: KEY,
      LOG_LEVEL: 'debug',
      PORTHOLE_GATEWAY_PROBE: `https://${https.host}:${https.port}`,
      PORTHOLE_GATEWAY_CA: caFile,
      PORTHOLE_GATEWAY_PORT: String(https.port),
      Sandbox__Preview__Namespace: namespace,
      Sandbox__Preview__GatewayName: FIXTURE_GATEWAY.name,
      Sandbox__Preview__GatewayNamespace: FIXTURE_GATEWAY.namespace,
      Sandbox__Preview__ZoneSuffix: GATEWAY_ZONE,
      Sandbox__Preview__Upstream: 'direct',
    });
  }, 3 * MINUTE);
  afterAll(async () => {
    await runtime?.end();
    await people?.close();
    await postgres?.stop();
    await fixture.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  /** Calls a route by its id; returns the body after a check of the status. */
  async function call<T>(
    id: string,
    status: number,
    params: Readonly<Record<string, string>> = {},
    { body, key = KEY }: { readonly body?: object; readonly key?: string } = {},
  ): Promise<T> {
    const { method, path } = routeOf(id);
    const rawPath = Object.entries(params).reduce(
      (all, [name, value]) => all.replace(`{${name}}`, value),
      path,
    );
    const headers: Record<string, string> = { Authorization: `Bearer ${key}` };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body)).toString('base64');
    const event = gatewayEvent(method, rawPath, {
      headers,
      ...(content !== undefined && { body: content, base64: true }),
    });
    const result = (await runtime.invoke(join(folder, 'router.mjs'), 'handler', event)) as Result;
    if (result.statusCode !== status)
      throw new Error(`${id} answered ${result.statusCode}:\n${runtime.log().slice(-3_000)}`);
    return (
      result.headers['content-type'] === 'application/json' ? JSON.parse(result.body) : result.body
    ) as T;
  }

  const page = async (url: string) => {
    const response = await people.fetch(url, { signal: AbortSignal.timeout(5_000) });
    return { status: response.status, text: await response.text() };
  };

  test(
    'take a run through its life: sandbox, live previews, keepalive, reaper, end',
    async () => {
      const run = await call<{ run_id: string; sandbox_id: string; agent_token: string }>(
        'createRun',
        201,
        {},
        {
          body: { auto_approve_tools: true },
        },
      );
      const id = run.run_id;
      const sandbox = { id: run.sandbox_id };
      expect(await call('getRun', 200, { id })).toMatchObject({ run_id: id, status: 'running' });
      expect(await call('isSandboxRunning', 200, sandbox)).toEqual({ running: true });
      await serve(`sandbox-${run.sandbox_id}`);

      const started = await call<Preview>('startPortForward', 200, { id }, { body: { target_port: PORT } });
      expect(started).toMatchObject({ ready: true, target_port: PORT });
      expect(await page(started.preview_url)).toEqual({ status: 200, text: 'served' });
      expect(await call('listPortForwards', 200, { id })).toMatchObject([{ session_id: started.session_id }]);

      const token = started.session_id;
      const kept = await call<{ expires_at: string }>('keepPreviewAlive', 200, { id, token });
      expect(Date.parse(kept.expires_at)).toBeGreaterThanOrEqual(Date.parse(started.expires_at));

      // Its agent makes the same request, and is granted it.
      const asked = await call<Preview>(
        'startAgentPreview',
        200,
        { id },
        {
          body: { target_port: PORT },
          key: run.agent_token,
        },
      );
      expect(asked.session_id).toBe(token);

      expect(await reap()).toMatchObject({ reaped: 0 });
      await expire(token);
      expect(await reap()).toMatchObject({ reaped: 1 });
      expect(await call('listPortForwards', 200, { id })).toEqual([]);

      const again = await call<Preview>('startPortForward', 200, { id }, { body: { target_port: PORT } });
      await call('stopPortForward', 200, { id, sessionId: again.session_id });
      expect(await call('completeRun', 200, { id })).toMatchObject({ status: 'completed' });
      await call('deleteSandbox', 204, sandbox);
      await call('getSandbox', 404, sandbox);
    },
    2 * MINUTE,
  );

  /** Starts a server in the pod; resolves once it listens. */
  async function serve(pod: string): Promise<void> {
    const server = `require('http').createServer((q, s) => s.end('served')).listen(${PORT}, () => console.log('up'))`;
    const script = `node -e "${server}" >/tmp/log 2>&1 & until grep -sq up /tmp/log; do sleep 0.1; done`;
    await fixture.kubectl(['exec', pod, `--namespace=${namespace}`, '--', 'sh', '-c', script]);
  }

  /** One event of a schedule, as EventBridge sends it. */
  const reap = () =>
    runtime.invoke(join(folder, 'scheduled.mjs'), 'reaper', {
      version: '0',
      id: '53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa',
      'detail-type': 'Scheduled Event',
      source: 'aws.events',
      account: '123456789012',
      time: new Date().toISOString(),
      region: 'eu-central-1',
      resources: ['arn:aws:events:eu-central-1:123456789012:rule/porthole-reaper'],
      detail: {},
    });

  /** Ends the longest life of a preview: an open connection of the Gateway counts as use. */
  async function expire(token: string): Promise<void> {
    const past = new Date(Date.now() - 30 * MINUTE);
    const route = ['httproute', previewName(token), `--namespace=${namespace}`, '--overwrite'];
    const ends = [ANNOTATIONS.expiresAt, ANNOTATIONS.maxUntil].map((each) => `${each}=${formatTime(past)}`);
    await fixture.kubectl(['annotate', ...route, ...ends]);
    await fixture.kubectl(['label', ...route, `${LABELS.dueSlot}=${timeSlot(past)}`]);
  }

  const endless = ROUTES.filter((route) => routeRow(route).isEndless);
  test.each(endless.map(({ id }) => id))('send %s on to the function host', async (id) => {
    const { path } = routeOf(id);
    const answer = await call<{ error: string; code: string }>(id, 501, { id: 's-1', path: 'workspace/a' });
    expect(answer.code).toBe('not_streamable');
    const asked = path.replace('{id}', 's-1').replace('{path}', 'workspace/a');
    expect(answer.error).toContain(`${DATA_PLANE}${asked}.`);
  });

  const closed = ROUTES.filter(({ access }) => access !== 'anyone').filter((r) => !endless.includes(r));
  test.each(closed.map(({ id }) => id))('let no stranger in by %s', async (id) => {
    const answer = await call<{ code: unknown }>(id, 401, { id: 'abc' }, { key: 'nobodys-key' });
    expect(answer.code).toBe(unauthorizedCode(id));
  });

  describe('that tell of Porthole', () => {
    test('answer probes', async () => {
      expect(await call('healthCheck', 200)).toEqual({ ok: true });
    });

    test('count previews', async () => {
      expect(await call<string>('getMetrics', 200)).toMatch(/^porthole_previews 0$/m);
    });

    test('document every route', async () => {
      const { paths } = await call<{ paths: Record<string, object> }>('getOpenApiSchema', 200);
      const documented = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      );
      expect(documented.toSorted()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted());
      expect(await call<string>('getOpenApiPage', 200)).toContain('<title>API · Porthole</title>');
      expect(await call<string>('getOpenApiHtml', 200)).toContain('<title>API · Porthole</title>');
    });
  });

  test('have no secret in their log', () => {
    const log = runtime.log();
    expect(log).toContain('"operation":"startPortForward"');
    const secrets = [KEY, new URL(postgres.url).password, 'eyJ'];
    expect(secrets.filter((secret) => log.includes(secret))).toEqual([]);
    expect(log).not.toMatch(new RegExp(PREVIEW_TOKEN_PATTERN));
  });
});

function routeOf(id: string): { readonly method: string; readonly path: string } {
  const route = ROUTES.find((each) => each.id === id);
  if (route === undefined) throw new Error(`there is no route ${id}`);
  return route;
}
