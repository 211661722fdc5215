import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PortholeError } from '#base/errors.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Preview, PreviewPlane, PreviewSpec } from '#core/previews/preview-plane.ts';
import type { PreviewAccess } from '#protocol/preview-access.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import { isAmongFirst, tooManyPreviews } from '#core/previews/preview-limits.ts';
import { previewName, tokenFingerprint } from '#core/previews/preview-token.ts';
import { createStrictServer } from '#proxy/front/strict-server.ts';
import { createPreviewProxy, type PreviewProxy } from '#proxy/preview-proxy.ts';
import { clientAddress, NO_PROXIES } from '#proxy/client-address.ts';
import { NO_SIBLINGS } from '#proxy/siblings.ts';
import { dialFailure } from './dial-failure.ts';
import { creationTimes, isCurrent, probeApp, selected } from './preview-files.ts';

export interface LoopbackPlaneOptions {
  readonly maxTotal: number;
  readonly clock: Clock;
  readonly sandboxes: Pick<Sandboxes, 'dial'>;
}

interface Session {
  preview: Preview;
  readonly server: Server;
  readonly connections: Set<Socket>;
}

const MADE = '1';
const CONFIRMED = '2';

/** First line of a browser's HTTP/1 request. */
const HTTP_REQUEST = /^(?!PRI )[A-Z]{3,20} \/[^\r\n]* HTTP\/1\.[01]\r\n/;

const nothing = (): void => undefined;

/**
 * The plane of `Sandbox:Preview:Enabled=false`: each session is a listener on a free loopback port
 * that forwards bytes through `dial`. It has no URL and no expiry, and ends with the process. HTTP
 * goes through the gateway's proxy: browsers send the cookies of a host to all of its ports, so an
 * app at 127.0.0.1 would get the console's session.
 */
export function createLoopbackPlane({
  maxTotal,
  clock,
  sandboxes,
}: LoopbackPlaneOptions): PreviewPlane & { closeAll(): Promise<void> } {
  const sessions = new Map<string, Session>();
  /** Listeners being started (single-flight): concurrent opens of one token share one. */
  const opening = new Map<string, Promise<Session>>();

  const previews = () => [...sessions.values()].map(({ preview }) => preview);
  const nextCreation = creationTimes(clock);

  const proxy = createPreviewProxy({
    lookup(token) {
      const preview = sessions.get(previewName(token))?.preview;
      return preview === undefined ? { kind: 'unknown' } : { kind: 'live', target: preview };
    },
    dial: (target, signal) => sandboxes.dial(target.sandboxId, target.targetPort, signal),
    dialFailure,
    clientAddress: (req) => clientAddress(req, NO_PROXIES),
    visitor(req) {
      const { host = '' } = req.headers;
      return { scheme: 'http', host, audience: host };
    },
    reportContact: () => undefined,
    fingerprint: tokenFingerprint,
    touched: nothing,
    frameAncestors: () => [],
    siblings: () => NO_SIBLINGS,
    log: { debug: nothing, warn: nothing },
    metrics: { answered: nothing, bytes: nothing, upgrades: nothing },
  });

  const begin = async (spec: PreviewSpec, name: string): Promise<Session> => {
    try {
      const { server, connections, port } = await listen(sandboxes, proxy, spec);
      const preview: Preview = {
        ...spec,
        name,
        createdAt: nextCreation(),
        expiresAt: undefined,
        maxUntil: undefined,
        url: null,
        localPort: port,
        uid: randomUUID(),
        version: MADE,
      };
      const session = { preview, server, connections };
      sessions.set(name, session);
      return session;
    } finally {
      // In the same tick as the entry above, so that no session is counted twice.
      opening.delete(name);
    }
  };

  const end = async ({ server, connections, preview }: Session) => {
    sessions.delete(preview.name);
    proxy.revoke(preview);
    const closed = once(server, 'close');
    server.close();
    for (const connection of connections) connection.destroy();
    await closed;
  };

  return {
    hasUrls: false,
    needsOpenAddress: false,
    seesTraffic: true,
    urlOf: () => null,
    lastUsed: () => Promise.resolve(undefined),

    async open(spec) {
      checkOpen(spec.access);
      const name = previewName(spec.token);
      // Do not await between this check and the entry below: two concurrent opens would both
      // listen.
      const present = sessions.get(name);
      if (present !== undefined) return { preview: present.preview, created: false };
      const underWay = opening.get(name);
      if (underWay !== undefined) return { preview: (await underWay).preview, created: false };
      if (sessions.size + opening.size >= maxTotal) throw tooManyPreviews(`${maxTotal} sessions`);
      const pending = begin(spec, name);
      opening.set(name, pending);
      return { preview: (await pending).preview, created: true };
    },

    async awaitReady(preview, signal) {
      const { name, uid } = preview;
      const session = sessions.get(name);
      // A new version: a start that saw the unconfirmed one must not withdraw a confirmed session.
      if (session?.preview.uid === uid) session.preview = { ...session.preview, version: CONFIRMED };
      return probeApp(sandboxes, preview, signal);
    },
    findNamed: (name) => Promise.resolve(sessions.get(name)?.preview),
    setAccess: async (_preview, access) => checkOpen(access),
    find: (token) => Promise.resolve(sessions.get(previewName(token))?.preview),
    touch: () => Promise.resolve(undefined),

    async close({ name }, precondition = {}) {
      const session = sessions.get(name);
      if (session === undefined || !isCurrent(session.preview, precondition)) return false;
      await end(session);
      return true;
    },

    async *list(filter) {
      yield* selected(previews(), filter);
    },

    isAmongFirst: async (preview, places, of = 'runId') =>
      isAmongFirst(preview, selected(previews(), { [of]: preview[of] }), places),

    sweep: () => Promise.resolve(0),

    closeAll: async () => {
      await Promise.all([...sessions.values()].map(end));
      await proxy.close(0);
    },
  };
}

async function listen(
  sandboxes: Pick<Sandboxes, 'dial'>,
  proxy: PreviewProxy,
  { sandboxId, targetPort, token }: PreviewSpec,
): Promise<{ server: Server; connections: Set<Socket>; port: number }> {
  const connections = new Set<Socket>();
  const front = createStrictServer({
    request: (req, res, expectsContinue) => proxy.handleRequest(req, res, token, expectsContinue),
    upgrade: (req, socket, head) => proxy.handleUpgrade(req, socket, head, token),
  });
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    connections.add(client);
    client.once('close', () => connections.delete(client));
    client.on('error', () => client.destroy());
    void carry(client, sandboxes.dial(sandboxId, targetPort), () => front.emit('connection', client));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, connections, port: (server.address() as AddressInfo).port };
}

/**
 * Copies bytes both ways. A client that starts with an HTTP request is passed to `serve` instead.
 */
async function carry(client: Socket, dialled: Promise<Duplex>, serve: () => void): Promise<void> {
  let upstream: Duplex;
  try {
    upstream = await dialled;
  } catch {
    // Nothing listens: reset, as a closed port does.
    client.resetAndDestroy();
    return;
  }
  if (client.destroyed) {
    upstream.destroy();
    return;
  }
  const close = (): void => void upstream.destroy();
  // 'close' follows every error.
  upstream.on('error', () => undefined);
  const closeClient = (): void => client.destroySoon();
  upstream.once('close', closeClient);
  client.once('close', close);
  upstream.pipe(client);
  client.once('data', (first: Buffer) => {
    client.pause();
    client.unshift(first);
    if (HTTP_REQUEST.test(first.toString('latin1'))) {
      upstream.off('close', closeClient).unpipe(client).destroy();
      client.off('close', close);
      serve();
      process.nextTick(() => client.resume());
    } else client.pipe(upstream);
  });
  client.once('end', () => upstream.end());
  client.resume();
}

/** @throws PortholeError `preview_not_enabled` */
function checkOpen(access: PreviewAccess | undefined): void {
  if (access === undefined || access.level === 'link') return;
  throw new PortholeError(
    'preview_not_enabled',
    `Nothing enforces the access level ${access.level} here: previews are loopback ports`,
    { remedy: 'ask your administrator to set Sandbox__Preview__Enabled=true.' },
  );
}
