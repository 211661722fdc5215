/** Stream behavior specific to an API server: refusals, tokens, watches, silence. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { awaitObject, watchObject } from '#adapters/kubernetes/sandboxes/cluster-objects.ts';
import { startHeartbeat } from '#adapters/kubernetes/sandboxes/port-stream.ts';
import { type FakeStreams, fakeStreams } from '../fake-streams.ts';

let fake: FakeStreams | undefined;
afterEach(() => fake?.close());

const pods = { path: '/api/v1/namespaces/n/pods', plural: 'pods' };
const pod = (version: string) => ({ metadata: { name: 'p', uid: 'u', resourceVersion: version } });
const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;
const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };

describe('a WebSocket', () => {
  test('reports the server’s own message and status when it is refused', async () => {
    const body = JSON.stringify({ kind: 'Status', reason: 'NotFound', message: 'pods "p" not found' });
    fake = await fakeStreams({ refuse: () => ({ status: 404, body }) });
    await expect(
      fake.streams.socket({ path: '/x', what: 'exec' }, 'v5.channel.k8s.io'),
    ).rejects.toMatchObject({
      status: 404,
      reason: 'NotFound',
      message: 'exec: 404 pods "p" not found',
    });
  });

  test('retries once with a new token after a 401', async () => {
    fake = await fakeStreams({
      refuse: ({ headers }) =>
        headers.authorization === 'Bearer new' ? undefined : { status: 401, body: '' },
    });
    const socket = await fake.streams.socket({ path: '/x', what: 'exec' }, 'v5.channel.k8s.io');
    expect(fake.tokens).toEqual(['Bearer old', 'Bearer new']);
    expect(socket.isPaused).toBe(true);
  });

  test('is not opened where the signal is aborted already, and is given up where it aborts', async () => {
    fake = await fakeStreams({ refuse: () => ({ status: 500, body: '' }) });
    const request = { path: '/x', what: 'exec' };
    const aborted = AbortSignal.abort(new Error('no'));
    await expect(fake.streams.socket(request, 'v5.channel.k8s.io', aborted)).rejects.toThrow('no');
    expect(fake.asked).toEqual([]);
    const abort = new AbortController();
    const opening = fake.streams.socket(request, 'v5.channel.k8s.io', abort.signal);
    abort.abort(new Error('enough'));
    await expect(opening).rejects.toThrow('enough');
  });

  test('fails as one without an answer when the server is not there', async () => {
    fake = await fakeStreams();
    const { streams } = fake;
    await fake.close();
    fake = undefined;
    await expect(streams.socket({ path: '/x', what: 'exec' }, 'v5.channel.k8s.io')).rejects.toMatchObject({
      status: 0,
      reason: 'NoAnswer',
    });
  });
});

describe('a watch', () => {
  const serving = (...bodies: string[]) =>
    fakeStreams({
      request: (incoming, response) => {
        if (!incoming.url?.includes('watch=true')) response.end(JSON.stringify(pod('7')));
        else response.end(bodies.shift() ?? '');
      },
    });

  test('tells what happens since a version, events cut anywhere', async () => {
    const text = line('MODIFIED', pod('8')) + line('BOOKMARK', pod('9')) + line('DELETED', pod('9'));
    fake = await fakeStreams({
      request: (_incoming, response) => {
        response.write(text.slice(0, 30));
        setImmediate(() => response.end(text.slice(30)));
      },
    });
    const events = [];
    for await (const event of watchObject(fake.streams, pods, 'p', '7', new AbortController().signal)) {
      events.push([event.type, event.object.metadata.resourceVersion]);
    }
    expect(events).toEqual([
      ['MODIFIED', '8'],
      ['DELETED', '9'],
    ]);
    expect(fake.asked).toEqual([
      '/api/v1/namespaces/n/pods?watch=true&fieldSelector=metadata.name%3Dp&timeoutSeconds=240&resourceVersion=7',
    ]);
  });

  test('ends with the server’s error, and with an event that has no end', async () => {
    fake = await serving(line('ERROR', gone));
    const watch = watchObject(fake.streams, pods, 'p', '7', new AbortController().signal);
    await expect(watch.next()).rejects.toMatchObject({ status: 410, reason: 'Expired' });
    await fake.close();
    fake = await serving('x'.repeat(5 * 1024 * 1024));
    const endless = watchObject(fake.streams, pods, 'p', '7', new AbortController().signal);
    await expect(endless.next()).rejects.toThrow('an event of more than 4194304 characters');
  });

  test('is taken up again after it ends, expires or breaks, until something is decided', async () => {
    fake = await serving('', line('ERROR', gone), '{broken\n', line('MODIFIED', pod('8')));
    const client = createKubernetesClient({ access: fake.access });
    const decided = await awaitObject(
      { client, streams: fake.streams },
      pods,
      'p',
      (object) => (object?.metadata.resourceVersion === '8' ? 'seen' : undefined),
      AbortSignal.timeout(20_000),
    );
    expect(decided).toBe('seen');
    expect(fake.asked.filter((url) => url.includes('watch=true'))).toHaveLength(4);
    client.close();
  });
});

describe('a heartbeat', () => {
  const beating = { heartbeatMs: 20, silenceMs: 60 };
  const opened = async (): Promise<{
    socket: Awaited<ReturnType<FakeStreams['streams']['socket']>>;
    mute: () => void;
  }> => {
    let mute = (): void => {};
    fake = await fakeStreams({ socket: (server) => (mute = () => server.pause()) });
    const socket = await fake.streams.socket({ path: '/x', what: 'exec' }, 'v5.channel.k8s.io');
    socket.resume();
    return { socket, mute: () => mute() };
  };

  test('tells that a peer is silent that owes an answer', async () => {
    const { socket, mute } = await opened();
    mute();
    await new Promise<void>((resolve) => startHeartbeat(socket, resolve, beating));
    expect(socket.readyState).toBe(socket.OPEN);
  });

  test.each([
    ['answers', (): void => {}],
    ['is held back by us', (socket: { pause(): void }): void => socket.pause()],
  ])('says nothing of a peer that %s', async (_title, prepare) => {
    const { socket } = await opened();
    let isLost = false;
    const { stop } = startHeartbeat(socket, () => (isLost = true), beating);
    prepare(socket);
    await new Promise((resolve) => setTimeout(resolve, 300));
    stop();
    expect(isLost).toBe(false);
  });

  test('says nothing of a peer that holds back what it was sent', async () => {
    const { socket, mute } = await opened();
    mute();
    let isLost = false;
    const heartbeat = startHeartbeat(socket, () => (isLost = true), beating);
    heartbeat.sent();
    await new Promise((resolve) => setTimeout(resolve, 300));
    heartbeat.stop();
    expect(isLost).toBe(false);
  });
});
