import { createHash } from 'node:crypto';
import { ANNOTATIONS } from '#constructs/names.ts';
import { previewManifests } from '#constructs/preview-objects.ts';
import { formatPreviewToken, previewHost, previewName } from '#core/previews/preview-token.ts';
import { previewPlaneContract } from '#test/contracts/preview-plane.contract.ts';
import { BOX, NAMESPACE, NOON, planeFixture, promptGateway, ZONE } from './plane-fixture.ts';

interface Manifest {
  metadata: {
    name: string;
    creationTimestamp?: string;
    labels?: Record<string, string>;
    annotations: Record<string, string>;
  };
  spec: { hostnames: string[] };
}

/** The Service and route of a preview, as an earlier function created them. */
function manifests(seed: string): { service: Manifest; route: Manifest } {
  const token = formatPreviewToken(createHash('sha256').update(seed).digest());
  const { service, route } = previewManifests({
    name: previewName(token),
    namespace: NAMESPACE,
    gateway: { name: 'gateway', namespace: 'gateways' },
    hostname: previewHost(token, ZONE),
    targetPort: BOX.listens,
    runId: 'run_contract',
    owner: 'alice',
    sandboxId: BOX.id,
    podName: BOX.podName,
    startedAt: NOON,
    expiresAt: NOON,
    maxUntil: NOON,
    attempt: 'earlier.0',
  });
  return { service: service as Manifest, route: route({ uid: 'gone', resourceVersion: '1' }) as Manifest };
}

const VISITS = { openUrl: 'https://porthole.test/open', keys: [] };

/** Changes that make a route foreign or unreadable. */
const SPOILT: Readonly<Record<string, (route: Manifest) => void>> = {
  'no labels': ({ metadata }) => delete metadata.labels,
  'another zone': ({ spec }) => (spec.hostnames = ['a-preview.other.test']),
  'another name': ({ metadata }) => (metadata.name = 'preview-0123456789abcdef0123'),
  'two hosts': ({ spec }) => spec.hostnames.push('second.test'),
  'no host': ({ spec }) => (spec.hostnames = []),
  'no run': ({ metadata }) => delete metadata.annotations[ANNOTATIONS.runId],
  'a run that is none': ({ metadata }) => (metadata.annotations[ANNOTATIONS.runId] = 'run/1'),
  'no owner': ({ metadata }) => delete metadata.annotations[ANNOTATIONS.owner],
  'no sandbox': ({ metadata }) => delete metadata.annotations[ANNOTATIONS.sandboxId],
  'no pod': ({ metadata }) => delete metadata.annotations[ANNOTATIONS.podName],
  'no port': ({ metadata }) => delete metadata.annotations[ANNOTATIONS.targetPort],
  'a port that is none': ({ metadata }) => (metadata.annotations[ANNOTATIONS.targetPort] = '65536'),
};

previewPlaneContract(
  'the cluster',
  async () => {
    const fixture = await planeFixture({ visits: VISITS });
    const { store } = fixture.server;
    const gateway = promptGateway(fixture.server);
    return {
      plane: fixture.plane,
      capacity: 40,
      sandbox: BOX,
      now: () => NOON,
      reaches: async (preview) => {
        const { hostname } = new URL(preview.url ?? '');
        return (await gateway.ask('proxy', hostname, AbortSignal.timeout(1_000))) === 'app';
      },
      reopen: async () => fixture.another().plane,
      async plantForeign() {
        for (const [seed, spoil] of Object.entries(SPOILT)) {
          const { route } = manifests(seed);
          route.metadata.creationTimestamp = '2026-01-01T00:00:00Z';
          spoil(route);
          store.plant('httproutes', route);
        }
        const { service } = manifests('a foreign Service');
        service.metadata = { ...service.metadata, labels: {}, creationTimestamp: '2026-01-01T00:00:00Z' };
        store.plant('services', service);
        return async () => structuredClone([store.all('services'), store.all('httproutes')]);
      },
      async leavePartiallyMade(at) {
        const { service } = manifests(at.toISOString());
        service.metadata.creationTimestamp = at.toISOString().replace(/\.\d{3}/, '');
        service.metadata.annotations[ANNOTATIONS.claimedAt] = at.toISOString();
        store.plant('services', service);
      },
      dispose: () => fixture.close(),
    };
  },
  { runs: 100 },
);
