import { collection, HTTP_ROUTES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { startSimulatedGateway } from '#test/cluster/lagging-gateway/simulated-gateway.ts';
import { type BenchResult, limited } from '../measure.ts';
import { type PreviewFixture, wantedPreview } from './preview-fixture.ts';

/** Delays until gateways serve a route, in milliseconds, and the number of starts for each. */
const LAGS = [
  { lag: 10, starts: 60 },
  { lag: 100, starts: 60 },
  { lag: 600, starts: 30 },
  { lag: 2_000, starts: 12 },
];
/** The delay is learned from earlier starts: the first few are not counted. */
const LESSONS = 4;

/**
 * P6: the delay between a gateway serving a preview and its start reporting that, and the number of
 * polls before.
 */
export async function benchReadiness(fixture: PreviewFixture, share: number): Promise<BenchResult[]> {
  const results = await Promise.all(
    LAGS.map(({ lag, starts }) => benchLag(fixture, lag, LESSONS + Math.ceil(starts * share))),
  );
  return results.flat();
}

async function benchLag(fixture: PreviewFixture, lag: number, starts: number): Promise<BenchResult[]> {
  const namespace = await fixture.newNamespace(`lag-${lag}`);
  const gateway = await startSimulatedGateway({
    access: fixture.access,
    routes: collection(HTTP_ROUTES, namespace),
    proxies: ['127.0.0.1'],
    programming: () => ({ knownAt: lag, servesAt: lag, isBare: false }),
  });
  const { plane } = fixture.planeOf(namespace, { probe: gateway.probe });
  const late: number[] = [];
  const early: number[] = [];
  try {
    for (let start = 0; start < starts; start += 1) {
      const { preview } = await plane.open(wantedPreview(new Date()));
      const readiness = await plane.awaitReady(preview);
      const opened = performance.now();
      if (!readiness.ready)
        throw new Error(`a gateway that lags ${lag} ms was not waited for: ${readiness.reason}`);
      const { hostname } = new URL(preview.url ?? '');
      const history = gateway.history(hostname);
      if (start < LESSONS) continue;
      late.push(opened - history.servesSince);
      early.push(history.early);
    }
  } finally {
    await gateway.close();
  }
  return [
    limited(
      `P6 open answers after the gateway serves, which lags ${lag} ms / allowed`,
      late,
      Math.max(30, lag / 10),
      'ms',
    ),
    limited(`P6 probes before that, lag ${lag} ms / allowed`, early, 2 + Math.log2(lag / 10), ''),
  ];
}
