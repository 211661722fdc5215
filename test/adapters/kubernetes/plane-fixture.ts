import { Duplex } from 'node:stream';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import type { VisitOptions } from '#adapters/kubernetes/previews/guest-upstream.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/previews/kubernetes-preview-plane.ts';
import type { Answerer, GatewayProbe } from '#adapters/kubernetes/previews/gateway-probe.ts';
import { PortholeError } from '#base/errors.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { PreviewPlane, PreviewSpec } from '#core/previews/preview-plane.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { parsePreviewHost, previewName } from '#core/previews/preview-token.ts';
import { type FakeApiServer, startFakeApiServer } from '#test/doubles/api-server/fake-api-server.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { previewOptions } from '#test/support/preview-options.ts';

export const NOON = new Date('2026-03-01T12:05:00.000Z');
export const NAMESPACE = 'previews';
export const ZONE = 'preview.test';
export const BOX = { id: 'box', podName: 'box-pod', listens: 3000, silent: 3001 };

export const PREVIEW = previewOptions({
  zoneSuffix: ZONE,
  gatewayNamespace: 'gateways',
  namespace: NAMESPACE,
  maxTotal: 40,
});

/** A connection to a server that sends this text at once. */
export function answering(text: string): Duplex {
  const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  stream.push(text);
  return stream;
}

export async function dial(id: string, port: number): Promise<Duplex> {
  if (id !== BOX.id) throw new PortholeError('sandbox_not_running', 'It is stopped.');
  if (port === BOX.listens) return answering('HTTP/1.1 204 No Content\r\n\r\n');
  throw new PortholeError('nothing_listens', 'Nothing listens.');
}

/** A gateway that serves a route as soon as it is stored. */
export function promptGateway(server: FakeApiServer): GatewayProbe {
  return {
    proxies: async () => ['proxy'],
    problems: () => [],
    certificateEnds: () => undefined,
    async ask(_proxy, hostname): Promise<Answerer> {
      const host = parsePreviewHost(hostname, ZONE);
      const name = host.kind === 'token' ? previewName(host.token) : '';
      const [route] = server.store.all('httproutes').filter(({ metadata }) => metadata.name === name);
      const parents = (route?.spec?.['parentRefs'] ?? []) as unknown[];
      if (parents.length === 0) return 'nothing';
      const [service] = server.store.all('services').filter(({ metadata }) => metadata.name === name);
      const [port] = (service?.spec?.['ports'] ?? []) as { targetPort: number }[];
      return port?.targetPort === BOX.listens ? 'app' : 'route';
    },
  };
}

export interface PlaneFixture {
  readonly server: FakeApiServer;
  readonly client: KubernetesClient;
  readonly plane: PreviewPlane;
  /** Another function, with separate connection, clock and settings. */
  another(
    clock?: Clock,
    previewSettings?: Partial<PreviewOptions>,
  ): { plane: PreviewPlane; client: KubernetesClient };
  spec(change?: Partial<PreviewSpec>): PreviewSpec;
  close(): Promise<void>;
}

export interface PlaneFixtureOptions {
  readonly serverClock?: Clock;
  readonly clock?: Clock;
  readonly maxTotal?: number;
  readonly tryTimeoutMs?: number;
  readonly callTimeoutMs?: number;
  readonly probe?: (server: FakeApiServer) => GatewayProbe | undefined;
  readonly previewSettings?: Partial<PreviewOptions>;
  readonly guests?: Parameters<typeof createKubernetesPlane>[0]['guests'];
  readonly frameAncestors?: readonly string[];
  readonly visits?: VisitOptions;
  readonly quota?: Parameters<typeof startFakeApiServer>[0]['quota'];
  readonly admit?: Parameters<typeof startFakeApiServer>[0]['admit'];
}

/** A plane on a separate API server. */
export async function planeFixture(options: PlaneFixtureOptions = {}): Promise<PlaneFixture> {
  const { clock = pinnedClock(NOON), serverClock = clock, maxTotal = 40, probe = promptGateway } = options;
  const server = await startFakeApiServer({
    namespace: NAMESPACE,
    now: () => serverClock.now(),
    quota: options.quota ?? { httproutes: maxTotal },
    ...(options.admit !== undefined && { admit: options.admit }),
  });
  const clients: KubernetesClient[] = [];
  const another = (own: Clock = clock, previewSettings: Partial<PreviewOptions> = {}) => {
    const client = createKubernetesClient({
      access: server.access,
      now: () => own.now(),
      ...(options.tryTimeoutMs !== undefined && { tryTimeoutMs: options.tryTimeoutMs }),
      ...(options.callTimeoutMs !== undefined && { callTimeoutMs: options.callTimeoutMs }),
    });
    clients.push(client);
    const plane = createKubernetesPlane({
      client,
      clock: own,
      sandboxes: { dial },
      probe: probe(server),
      listener: 'previews',
      guests: options.guests,
      frameAncestors: options.frameAncestors,
      visits: options.visits,
      previewSettings: { ...PREVIEW, maxTotal, ...options.previewSettings, ...previewSettings },
    });
    return { plane, client };
  };
  let specs = 0;
  return {
    server,
    another,
    ...another(),
    spec(change = {}) {
      const startedAt = clock.now();
      specs += 1;
      return {
        token: `calm-blue-otter-${String(specs).padStart(26, 'a')}`,
        runId: 'run_1',
        owner: 'alice',
        sandboxId: BOX.id,
        podName: BOX.podName,
        targetPort: BOX.listens,
        startedAt,
        expiresAt: new Date(startedAt.getTime() + 30 * 60_000),
        maxUntil: new Date(startedAt.getTime() + 480 * 60_000),
        ...change,
      };
    },
    async close() {
      for (const client of clients) client.close();
      await server.close();
    },
  };
}
