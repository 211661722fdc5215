import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { PortholeError } from '#core/errors.ts';
import type { Clock } from '#core/ports/clock.ts';
import type { Preview, PreviewPlane } from '#core/ports/preview-plane.ts';
import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';
import { previewName } from '#core/rules/preview-token.ts';

export interface LoopbackPlaneOptions {
  readonly maxTotal: number;
  readonly clock: Clock;
  readonly provider: Pick<SandboxProvider, 'dial'>;
}

interface Session {
  readonly preview: Preview;
  readonly server: Server;
  readonly connections: Set<Socket>;
}

/**
 * The plane of `Sandbox:Preview:Enabled=false`: each session is a listener on a free loopback port, its bytes carried by `dial`. It has no URL and no expiry, and
 * dies with the process.
 */
export function createLoopbackPlane({
  maxTotal,
  clock,
  provider,
}: LoopbackPlaneOptions): PreviewPlane & { closeAll(): Promise<void> } {
  const sessions = new Map<string, Session>();
  /** Listeners on their way up, so that simultaneous opens of one token meet. */
  const opening = new Map<string, Promise<Session>>();

  const end = async ({ server, connections, preview }: Session) => {
    sessions.delete(preview.name);
    const closed = once(server, 'close');
    server.close();
    for (const connection of connections) connection.destroy();
    await closed;
  };

  return {
    hasUrls: false,

    async open(spec) {
      const name = previewName(spec.token);
      const present = sessions.get(name) ?? (await opening.get(name));
      if (present !== undefined) return { preview: present.preview, created: false };
      if (sessions.size + opening.size >= maxTotal) {
        throw new PortholeError(
          'too_many_previews',
          `All ${maxTotal} sessions that may be open at once are taken: stop one first.`,
        );
      }
      const pending = listen(provider, spec.sandboxId, spec.targetPort).then(
        ({ server, connections, port }) => {
          const now = clock.now();
          const preview: Preview = {
            ...spec,
            name,
            createdAt: now,
            expiresAt: undefined,
            maxUntil: undefined,
            url: null,
            localPort: port,
            uid: randomUUID(),
            version: '1',
          };
          const session = { preview, server, connections };
          sessions.set(name, session);
          return session;
        },
      );
      opening.set(name, pending);
      try {
        return { preview: (await pending).preview, created: true };
      } finally {
        opening.delete(name);
      }
    },

    serves: () => Promise.resolve({ ready: true }),
    find: (token) => Promise.resolve(sessions.get(previewName(token))?.preview),
    touch: () => Promise.resolve(undefined),

    async close({ name }, { uid } = {}) {
      const session = sessions.get(name);
      if (session === undefined || (uid !== undefined && uid !== session.preview.uid)) return false;
      await end(session);
      return true;
    },

    async *list({ runId } = {}) {
      for (const { preview } of [...sessions.values()])
        if (runId === undefined || preview.runId === runId) yield preview;
    },

    sweep: () => Promise.resolve(0),

    closeAll: async () => {
      await Promise.all([...sessions.values()].map(end));
    },
  };
}

async function listen(
  provider: Pick<SandboxProvider, 'dial'>,
  sandboxId: string,
  targetPort: number,
): Promise<{ server: Server; connections: Set<Socket>; port: number }> {
  const connections = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    connections.add(client);
    client.once('close', () => connections.delete(client));
    client.on('error', () => client.destroy());
    provider.dial(sandboxId, targetPort).then(
      (upstream) => {
        if (client.destroyed) return void upstream.destroy();
        upstream.on('error', () => client.destroy());
        upstream.once('close', () => client.destroy());
        client.once('close', () => upstream.destroy());
        client.pipe(upstream);
        upstream.pipe(client);
        client.resume();
      },
      // Nothing listens: what a closed port would do.
      () => client.resetAndDestroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, connections, port: (server.address() as AddressInfo).port };
}
