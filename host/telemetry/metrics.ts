import type { MetricFamily } from '#adapters/telemetry/prometheus-producer.ts';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

type LabelValue = string | number;
const ANY: readonly LabelValue[] = [];

interface MetricBase {
  readonly help: string;
  readonly labels: Readonly<Record<string, readonly LabelValue[]>>;
}
type Metric = MetricBase &
  (
    | { readonly kind: 'counter' | 'gauge' }
    | { readonly kind: 'histogram'; readonly buckets: readonly number[] }
  );

/**
 * The metrics that are recorded, with the values of their labels: operation ids and statuses, never
 * a path, a token or a user. To add a metric, add an entry and a call of `record`.
 */
const METRICS = {
  porthole_http_requests_total: {
    kind: 'counter',
    help: 'Requests of the API',
    labels: { operation: ANY, status: ANY },
  },
  porthole_http_request_duration_seconds: {
    kind: 'histogram',
    help: 'Time from the head of a request to the end of its answer',
    labels: { operation: ANY },
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
  },
  /** `status` is a class, e.g. `2xx`, or an error without an answer. */
  porthole_preview_requests_total: {
    kind: 'counter',
    help: 'Requests through previews',
    labels: { status: ANY },
  },
  porthole_preview_bytes_total: {
    kind: 'counter',
    help: 'Bytes of bodies and upgraded connections',
    labels: { direction: ['in', 'out'] },
  },
  porthole_archives_total: {
    kind: 'counter',
    help: 'Attempts to archive a workspace before its sandbox is destroyed; one that failed is repeated by the next pass',
    labels: { outcome: ['kept', 'failed'] },
  },
  porthole_preview_upgrades: {
    kind: 'gauge',
    help: 'Open upgraded connections (WebSocket)',
    labels: {},
  },
} as const satisfies Readonly<Record<string, Metric>>;

type MetricName = keyof typeof METRICS;
type ItemsOf<Lists> = {
  readonly [Key in keyof Lists]: Lists[Key] extends readonly (infer Item extends LabelValue)[] ? Item : never;
};
type Labels<Name extends MetricName> = ItemsOf<(typeof METRICS)[Name]['labels']>;

export interface MetricRecorder {
  /** Adds the value to a counter or a gauge, or observes it in a histogram. @default value 1 */
  record<Name extends MetricName>(name: Name, labels: Labels<Name>, value?: number): void;
}

/** Metrics of the host. */
export interface Metrics extends MetricRecorder {
  /** Number of live previews, read at each scrape. */
  countPreviews(count: () => Promise<number>): void;
  expose(): Promise<{ contentType: string; text: string }>;
  /** The same as values. */
  read(): Promise<readonly MetricFamily[]>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const recorders = new Map(
    Object.entries<Metric>(METRICS).map(([name, metric]) => [name, recorderOf(name, metric, registers)]),
  );
  return {
    record: (name, labels, value = 1) => recorders.get(name)?.(labels, value),
    countPreviews(count) {
      const gauge = new Gauge({
        name: 'porthole_previews',
        help: 'Live previews',
        registers,
        async collect() {
          gauge.set(await count());
        },
      });
    },
    expose: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    // Despite its type, the registry has the kind of a metric as a text.
    read: async () => (await registry.getMetricsAsJSON()) as unknown as readonly MetricFamily[],
  };
}

type Recorder = (labels: Readonly<Record<string, LabelValue>>, value: number) => void;

function recorderOf(name: string, metric: Metric, registers: Registry[]): Recorder {
  const options = { name, help: metric.help, labelNames: Object.keys(metric.labels), registers };
  if (metric.kind === 'histogram') {
    const histogram = new Histogram({ ...options, buckets: [...metric.buckets] });
    return (labels, value) => histogram.observe(labels, value);
  }
  const sum = metric.kind === 'counter' ? new Counter(options) : new Gauge(options);
  return (labels, value) => sum.inc(labels, value);
}
