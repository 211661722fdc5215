import { describe, expect, test } from '@jest/globals';
import { awaitReadiness, type ReadinessDeps } from '#adapters/kubernetes/previews/await-readiness.ts';
import type { Answerer } from '#adapters/kubernetes/previews/gateway-probe.ts';
import type { StoredRoute } from '#adapters/kubernetes/previews/preview-store.ts';
import { PortholeError, type ErrorCode } from '#base/errors.ts';
import type { Preview } from '#core/previews/preview-plane.ts';
import { answering, NOON } from '../plane-fixture.ts';

const PREVIEW: Preview = {
  name: 'preview-0123456789abcdef0123',
  token: 'calm-blue-otter-aaaaaaaaaaaaaaaaaaaaaaaaaa',
  runId: 'run_1',
  owner: 'alice',
  sandboxId: 'box',
  podName: 'box-pod',
  targetPort: 3000,
  createdAt: NOON,
  startedAt: NOON,
  expiresAt: NOON,
  maxUntil: NOON,
  url: 'https://calm-blue-otter-aaaaaaaaaaaaaaaaaaaaaaaaaa-preview.preview.test:8443',
  localPort: 0,
  uid: 'uid',
  version: '1',
};
const PROBLEM = 'The gateway is broken: set X.';
const ROUTE = { metadata: { name: PREVIEW.name, uid: 'uid' } } as StoredRoute;

interface Scene {
  /** What each proxy answers, given the milliseconds since the start. */
  readonly proxies?: Readonly<Record<string, (elapsed: number) => Answerer>>;
  readonly dial?: ErrorCode | 'listens' | 'fails' | 'no_http' | 'hangs';
  readonly isAccepted?: boolean;
  readonly isGone?: boolean;
  /** The API server, while it does not report the route. */
  readonly api?: 'hangs' | 'fails';
  readonly timeoutMs?: number;
}

function hang(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

function scene({
  proxies,
  dial = 'listens',
  isAccepted = true,
  isGone = false,
  api,
  timeoutMs = 5_000,
}: Scene) {
  const startedAt = performance.now();
  const asked: { proxy: string; at: number; answer: Answerer }[] = [];
  let looks = 0;
  const deps: ReadinessDeps = {
    probe: proxies && {
      proxies: async () => Object.keys(proxies),
      problems: () => [PROBLEM],
      certificateEnds: () => undefined,
      async ask(proxy, hostname) {
        expect(hostname).toBe('calm-blue-otter-aaaaaaaaaaaaaaaaaaaaaaaaaa-preview.preview.test');
        const at = performance.now() - startedAt;
        const answer = proxies[proxy]?.(at) ?? 'unreachable';
        asked.push({ proxy, at, answer });
        return answer;
      },
    },
    sandboxes: {
      async dial(_id, _port, signal) {
        if (dial === 'listens') return answering('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
        if (dial === 'fails') return answering('HTTP/1.1 500 Oh No\r\nContent-Length: 0\r\n\r\n');
        if (dial === 'no_http') return answering('SSH-2.0-server\r\n');
        if (dial !== 'hangs') throw new PortholeError(dial, 'as configured');
        return hang(signal);
      },
    },
    route: async (_preview, signal) => {
      looks += 1;
      if (api === 'fails') throw new Error('no answer');
      if (api === 'hangs') await hang(signal);
      return isGone ? undefined : ROUTE;
    },
    isAccepted: () => isAccepted,
    timeoutMs,
  };
  return { deps, asked, looks: () => looks };
}

const from = (readyAt: number, before: Answerer, then: Answerer) => (elapsed: number) =>
  elapsed < readyAt ? before : then;

describe('a start that waits for its route', () => {
  test('is ready at the first answer of the app', async () => {
    const { deps, asked, looks } = scene({ proxies: { one: from(0, 'app', 'app') } });
    expect(await awaitReadiness(deps, PREVIEW)).toEqual({ ready: true });
    expect(asked).toHaveLength(1);
    expect(looks()).toBe(0);
  });

  test.each<[string, Scene, object]>([
    [
      'says that nothing listens as soon as the route answers for the app',
      { proxies: { one: from(40, 'nothing', 'route') }, dial: 'nothing_listens' },
      { ready: false, reason: 'nothing_listens' },
    ],
    [
      "says that nothing listens when the gateway's own error hides the route, and the route is accepted",
      { proxies: { one: from(0, 'gateway', 'gateway') }, dial: 'nothing_listens' },
      { ready: false, reason: 'nothing_listens' },
    ],
    [
      'says that the sandbox is stopped, whatever the gateway answers',
      { proxies: { one: from(0, 'nothing', 'nothing') }, dial: 'sandbox_not_running' },
      { ready: false, reason: 'sandbox_stopped' },
    ],
    [
      'says that it is starting when the gateway has no route in time',
      { proxies: { one: from(0, 'nothing', 'nothing') }, dial: 'nothing_listens', timeoutMs: 200 },
      { ready: false, reason: 'starting' },
    ],
    [
      'says that it is starting when the gateway errs and has not accepted the route',
      {
        proxies: { one: from(0, 'gateway', 'gateway') },
        dial: 'nothing_listens',
        isAccepted: false,
        timeoutMs: 200,
      },
      { ready: false, reason: 'starting' },
    ],
    [
      'says that the gateway is unreachable when its name has no address',
      { proxies: {}, timeoutMs: 200 },
      { ready: false, reason: 'gateway_unreachable', problem: PROBLEM },
    ],
    [
      'says that the gateway is unreachable when none of its proxies answers',
      { proxies: { one: from(0, 'unreachable', 'unreachable') }, timeoutMs: 200 },
      { ready: false, reason: 'gateway_unreachable', problem: PROBLEM },
    ],
    [
      'forgets that the gateway was unreachable once it answers',
      { proxies: { one: from(50, 'unreachable', 'nothing') }, timeoutMs: 300 },
      { ready: false, reason: 'starting' },
    ],
    [
      'says that a server does not speak plain HTTP as soon as the route answers for it',
      { proxies: { one: from(40, 'nothing', 'route') }, dial: 'no_http' },
      { ready: false, reason: 'not_http' },
    ],
    [
      'says that a server does not speak plain HTTP where it rejects the request through the route',
      { proxies: { one: from(0, 'rejected', 'rejected') }, dial: 'no_http' },
      { ready: false, reason: 'not_http' },
    ],
    [
      'is ready where the app itself rejects the request',
      { proxies: { one: from(0, 'rejected', 'rejected') } },
      { ready: true },
    ],
    [
      'is ready where the guest lets only some visitors pass, and the app listens',
      { proxies: { one: from(40, 'nothing', 'guarded') } },
      { ready: true },
    ],
    [
      'says that nothing listens where the guest lets only some visitors pass',
      { proxies: { one: from(40, 'nothing', 'guarded') }, dial: 'nothing_listens' },
      { ready: false, reason: 'nothing_listens' },
    ],
    [
      'waits for the app while the gateway has the route and not its Service',
      { proxies: { one: from(100, 'failed', 'app') } },
      { ready: true },
    ],
    [
      'says that a server does not speak plain HTTP, whatever the gateway answers before it has its Service',
      { proxies: { one: from(100, 'failed', 'route') }, dial: 'no_http' },
      { ready: false, reason: 'not_http' },
    ],
    [
      'is ready where the app itself answers with an empty 500',
      { proxies: { one: from(0, 'failed', 'failed') }, dial: 'fails', timeoutMs: 60_000 },
      { ready: true },
    ],
    [
      'is ready in the end where the app answers with an empty 500 through the gateway alone',
      { proxies: { one: from(0, 'failed', 'failed'), two: from(0, 'app', 'app') }, timeoutMs: 200 },
      { ready: true },
    ],
    [
      'says that a server does not speak plain HTTP where the gateway cannot be probed',
      { dial: 'no_http' },
      { ready: false, reason: 'not_http' },
    ],
    [
      'waits for an app while the gateway does not know its pod yet',
      { proxies: { one: from(100, 'route', 'app') } },
      { ready: true },
    ],
    [
      'says that nothing listens where only loopback does',
      { proxies: { one: from(0, 'route', 'route') }, timeoutMs: 200 },
      { ready: false, reason: 'nothing_listens' },
    ],
    [
      'does not wait for a sandbox that does not say whether anything listens',
      { proxies: { one: from(30, 'nothing', 'app') }, dial: 'hangs' },
      { ready: true },
    ],
    [
      'does not wait for an API server that does not answer',
      { proxies: { one: from(400, 'nothing', 'app') }, api: 'hangs' },
      { ready: true },
    ],
    [
      'does not mind an API server that fails',
      { proxies: { one: from(400, 'nothing', 'app') }, api: 'fails' },
      { ready: true },
    ],
    [
      'says that it is starting when neither the gateway can be probed nor the API server asked',
      { api: 'fails', timeoutMs: 200 },
      { ready: false, reason: 'starting' },
    ],
    ['believes the route’s conditions where the gateway cannot be probed', {}, { ready: true }],
    [
      'believes the sandbox where the gateway cannot be probed',
      { dial: 'nothing_listens' },
      { ready: false, reason: 'nothing_listens' },
    ],
    [
      'waits for the route’s conditions where the gateway cannot be probed',
      { isAccepted: false, timeoutMs: 200 },
      { ready: false, reason: 'starting' },
    ],
  ])('%s', async (_name, options, readiness) => {
    expect(await awaitReadiness(scene(options).deps, PREVIEW)).toEqual(readiness);
  });

  test('says at once that a proxy is not trusted', async () => {
    const { deps, asked } = scene({
      proxies: { one: from(0, 'nothing', 'nothing'), two: from(0, 'untrusted', 'untrusted') },
    });
    expect(await awaitReadiness(deps, PREVIEW)).toEqual({
      ready: false,
      reason: 'gateway_untrusted',
      problem: PROBLEM,
    });
    expect(asked).toHaveLength(2);
  });

  test('ends soon when its preview is gone', async () => {
    const { deps, looks } = scene({ proxies: { one: from(0, 'nothing', 'nothing') }, isGone: true });
    expect(await awaitReadiness(deps, PREVIEW)).toEqual({ ready: false, reason: 'starting' });
    expect(looks()).toBe(1);
  });

  test('waits for the last of three proxies, and asks each no longer than needed', async () => {
    const { deps, asked } = scene({
      proxies: {
        one: from(0, 'nothing', 'app'),
        two: from(30, 'nothing', 'app'),
        three: from(120, 'nothing', 'app'),
      },
    });
    expect(await awaitReadiness(deps, PREVIEW)).toEqual({ ready: true });
    expect(asked.filter(({ proxy }) => proxy === 'one')).toHaveLength(1);
    expect(asked.at(-1)).toMatchObject({ proxy: 'three', answer: 'app' });
  });

  test('rejects with the reason of the abort', async () => {
    const { deps } = scene({ proxies: { one: from(0, 'nothing', 'nothing') } });
    const caller = new AbortController();
    const waiting = awaitReadiness(deps, PREVIEW, caller.signal);
    caller.abort(new Error('gone home'));
    await expect(waiting).rejects.toThrow('gone home');
  });

  test('never says ready before the route serves, through 500 starts of gateways that lag up to two seconds', async () => {
    const early = await Promise.all(
      Array.from({ length: 500 }, async (_, index) => {
        const lag = (index * 37) % 2_000;
        const { deps, asked } = scene({
          proxies: {
            one: (elapsed) => (elapsed < lag ? (index % 2 === 0 ? 'nothing' : 'gateway') : 'app'),
          },
        });
        await awaitReadiness(deps, PREVIEW);
        return asked.some(({ at, answer }) => answer === 'app' && at < lag);
      }),
    );
    expect(early).not.toContain(true);
  });
});
