import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { type Answer, type Call, call } from '#test/support/in-process-host.ts';
import { serve } from './support/commands.ts';
import { startOidcIssuer } from './support/oidc-issuer.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { rawExchange } from './support/raw-exchange.ts';
import { type Callable, makeRun, startPreview } from './support/runs.ts';
import { withGuests } from '#test/support/with-guests.ts';

const SIGNING_KEY = Buffer.alloc(32, 'signing').toString('base64url');
const QUOTED_KEY = 'key-"with"-quotes-and-\\-0123';
/**
 * Unknown keys, as they occur when people mix up installations: a presented credential is a secret,
 * too.
 */
const WRONG_KEY = 'wrong-key-0123456789-wrong';
const APP_SECRET = 'the-apps-own-session-4711';

/**
 * A long, mostly failing session of a host in a separate process. Then all its output (both
 * streams, metrics, error bodies) is searched for every token, key and password that was used.
 */
describe('after a day of failures', () => {
  let dataDir: string;
  let host: HostProcess;
  const secrets = new Map<string, string>([
    ['service key', SERVICE_KEY],
    ['alice’s key', ALICE],
    ['bob’s key', BOB],
    ['ada’s key', ADA_ADMIN],
    ['signing key', SIGNING_KEY],
    ['wrong key', WRONG_KEY],
    ['the app’s cookie', APP_SECRET],
    ['key with quotes', QUOTED_KEY],
    ['key with quotes, as JSON', JSON.stringify(QUOTED_KEY).slice(1, -1)],
  ]);
  const errorBodies: string[] = [];
  const metricPages: string[] = [];
  let logs = '';

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'porthole-leaks-'));
    const issuer = await startOidcIssuer();
    host = await startHostProcess({
      dataDir,
      environment: {
        ...PEOPLE,
        PORTHOLE_API_KEYS: JSON.stringify({
          ...(JSON.parse(PEOPLE.PORTHOLE_API_KEYS) as Record<string, unknown>),
          [QUOTED_KEY]: { user: 'quinn', org: 'acme' },
        }),
        PORTHOLE_SIGNING_KEYS: JSON.stringify({ keys: [{ kty: 'oct', kid: 'a', k: SIGNING_KEY }] }),
        OIDC_ISSUER: issuer.url,
        OIDC_AUDIENCE: 'porthole',
        LOG_LEVEL: 'trace',
      },
    });
    const porthole: Callable = {
      async call(method, path, options): Promise<Answer> {
        const answer = await call(host.port, method, path, options);
        if (answer.status >= 400)
          errorBodies.push(`${answer.status} ${answer.text} ${JSON.stringify(answer.headers)}`);
        return answer;
      },
    };
    const attempt = (method: string, path: string, options?: Call) =>
      porthole.call(method, path, options).catch(() => undefined);

    const run = await makeRun(porthole, ALICE, { auto_approve_tools: true });
    const other = await makeRun(porthole, BOB);
    await serve(porthole, run.sandboxId, 3470, 'an app', ALICE);
    const live = await startPreview(porthole, run.runId, 3470, ALICE);
    const stopped = await startPreview(porthole, run.runId, 3471, ALICE);
    await porthole.call('DELETE', `/api/runs/${run.runId}/sandbox/port-forward/${stopped.session_id}`, {
      token: ALICE,
    });
    const oidc = await issuer.sign({});
    // Failing at first: the one kind of failure that is logged with its cause.
    issuer.answerWith(500);
    await attempt('GET', '/api/runs', { token: oidc });
    issuer.answerWith(undefined);
    const expired = await issuer.sign({ exp: 1 });
    const unsecured = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${oidc.split('.')[1] ?? ''}.`;
    secrets.set('live preview', live.session_id);
    secrets.set('stopped preview', stopped.session_id);
    secrets.set('agent token', run.agentToken);
    secrets.set('other agent token', other.agentToken);
    secrets.set('issuer’s token', oidc);
    secrets.set('issuer’s expired token', expired);
    secrets.set('unsigned token', unsecured);

    // These have no recognizable form, so they cannot be redacted; only the JSON spelling is
    // searched for.
    const unpasted = ['wrong key', 'the app’s cookie', 'key with quotes, as JSON'];
    const pasted = [...secrets].flatMap(([name, secret]) => (unpasted.includes(name) ? [] : [secret]));
    await attempt('GET', '/api/runs', { token: WRONG_KEY });
    // Presented correctly, incorrectly, and in every place where people paste keys by mistake.
    for (const secret of pasted) {
      const safe = encodeURIComponent(secret);
      await attempt('GET', '/api/runs', { headers: { authorization: secret } });
      await attempt('GET', '/api/runs/run_nothere', { token: secret });
      await attempt('GET', '/api/runs', { token: `${secret}x` });
      await attempt('GET', `/v1/openapi.json?token=${safe}`);
      await attempt('GET', `/api/runs/${safe}`, { token: ALICE });
      await attempt('GET', `/${safe}`, { token: ALICE });
      await attempt('GET', `/api/${safe}/x?token=${safe}`, { token: ALICE });
      await attempt('GET', `/api/runs?after=${safe}`, { token: ALICE });
      await attempt('GET', `/api/runs?limit=${safe}`, { token: ALICE });
      await attempt('POST', '/api/runs', { token: ALICE, body: { sandbox_id: secret } });
      await attempt('POST', '/api/runs', { token: ALICE, body: { title: [secret], [secret]: 1 } });
      await attempt('POST', '/api/runs', {
        token: ALICE,
        body: `{"title": ${secret}`,
        headers: { 'content-type': 'application/json' },
      });
      await attempt('POST', '/api/runs', { token: ALICE, body: '{}', headers: { 'content-type': secret } });
      await attempt('POST', '/v1/sandbox', { token: ALICE, body: { image: secret } });
      await attempt('POST', `/api/runs/${run.runId}/sandbox/port-forward`, {
        token: ALICE,
        body: { target_port: secret },
      });
      await attempt('POST', `/api/runs/${run.runId}/sandbox/preview/${safe}/keepalive`, { token: BOB });
      await attempt('POST', `/api/runs/${other.runId}/sandbox/preview/${safe}/keepalive`, { token: BOB });
      await attempt('DELETE', `/api/runs/${other.runId}/sandbox/port-forward/${safe}`, { token: BOB });
      await attempt('GET', `/v1/sandbox/${safe}/running`, { token: ALICE });
      await attempt('GET', `/v1/sandbox/${run.sandboxId}/file/workspace/${safe}`, { token: ALICE });
      await attempt('PUT', `/v1/sandbox/${run.sandboxId}/file/etc/${safe}`, { token: ALICE, body: secret });
      await attempt('POST', `/v1/sandbox/${run.sandboxId}/exec`, {
        token: ALICE,
        body: { argv: ['true'], cwd: `/${secret}` },
      });
      await attempt('POST', '/api/runs', { token: ALICE, body: {}, headers: { origin: `http://${secret}` } });
      await attempt('POST', '/api/runs', { token: ALICE, body: {}, headers: { 'sec-fetch-site': secret } });
      await attempt('GET', '/health', { host: 'evil.test', token: secret });
      if (!/["\\]/.test(secret)) {
        errorBodies.push(
          await rawExchange(
            host.port,
            `GET / HTTP/1.1\r\nHost: ${secret}\r\nAuthorization: Bearer ${secret}\r\nHost: x\r\n\r\n`,
          ),
        );
        errorBodies.push(
          await rawExchange(host.port, `GET http://${secret}/ HTTP/1.1\r\nHost: localhost\r\n\r\n`),
        );
      }
    }
    for (const session of [live.session_id, stopped.session_id]) {
      const previewHost = `${session}-preview.localhost:${host.port}`;
      await attempt('GET', `/page?token=${session}`, {
        host: previewHost,
        headers: { cookie: `s=${APP_SECRET}`, authorization: `Bearer ${APP_SECRET}` },
      });
      await attempt('POST', '/_next/x', { host: previewHost, headers: { origin: 'https://evil.test' } });
      await attempt('GET', '/', { host: previewHost, headers: { accept: 'text/html' } });
      errorBodies.push(
        await rawExchange(
          host.port,
          `GET / HTTP/1.1\r\nHost: ${previewHost}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://evil.test\r\nCookie: s=${APP_SECRET}\r\n\r\n`,
        ),
      );
    }
    metricPages.push((await porthole.call('GET', '/metrics')).text);

    // The issuer stops, and the sandbox is deleted under a live preview.
    await issuer.close();
    await attempt('GET', '/api/runs', { token: await issuer.sign({ sub: 'late' }) });
    await porthole.call('DELETE', `/v1/sandbox/${run.sandboxId}`, { token: ALICE });
    await attempt('GET', '/', { host: `${live.session_id}-preview.localhost:${host.port}` });
    metricPages.push((await porthole.call('GET', '/metrics')).text);
    await host.end('SIGTERM');
    logs = host.output();
  });
  afterAll(async () => {
    await host.end('SIGKILL');
    const provider = withGuests(createLocalProvider({ dataDir }));
    for await (const id of provider.list()) await provider.destroy(id);
    await provider.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  /**
   * The names of the secrets in a text, plain and URL-encoded; printing the text itself would leak
   * them again.
   */
  const found = (text: string) => {
    const lower = text.toLowerCase();
    return [...secrets].flatMap(([name, secret]) =>
      [secret, encodeURIComponent(secret)].some((form) => lower.includes(form.toLowerCase())) ? [name] : [],
    );
  };

  test('has enough to search', () => {
    expect(secrets.size).toBeGreaterThan(14);
    expect(errorBodies.length).toBeGreaterThan(300);
    expect(logs.split('\n').filter((line) => line.startsWith('{')).length).toBeGreaterThan(300);
    expect(logs.includes('"level":"error"')).toBe(true);
    expect(metricPages.every((page) => page.includes('porthole_http_requests_total'))).toBe(true);
  });

  test('finds a secret that is present', () => {
    for (const [name, secret] of secrets) expect(found(`before ${secret} after`)).toContain(name);
  });

  test('logs no token, key or password', () => {
    expect(found(logs)).toEqual([]);
  });

  test('exposes no token, key or password in a metric', () => {
    expect(found(metricPages.join('\n'))).toEqual([]);
  });

  test('exposes no token, key or password in an error body or header', () => {
    expect(errorBodies.flatMap((body) => found(body).map((name) => `${name}: ${body.slice(0, 60)}`))).toEqual(
      [],
    );
  });
});
