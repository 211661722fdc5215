import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Metrics of a process that carries previews. */
export interface PreviewMetrics {
  /**
   * One finished request of a preview; `status` is its class, e.g. `2xx`, or `error` without an
   * answer.
   */
  previewRequested(status: string): void;
  previewBytes(direction: 'in' | 'out', bytes: number): void;
  /** An upgraded connection (WebSocket) has opened (1) or closed (-1). */
  previewUpgrades(change: 1 | -1): void;
}

/** Metrics of the host. Labels are operation ids and statuses: never a path, a token or a user. */
export interface Metrics extends PreviewMetrics {
  /** One finished request of the API. */
  requested(operation: string, status: number, seconds: number): void;
  /** One attempt to archive a sandbox before it is destroyed. */
  archived(outcome: 'kept' | 'failed'): void;
  /** Number of live previews, read at each scrape. */
  countPreviews(count: () => Promise<number>): void;
  expose(): Promise<{ contentType: string; text: string }>;
}

export function createMetrics(): Metrics {
  const registers = [new Registry()];
  const registry = registers[0] as Registry;
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'porthole_http_requests_total',
    help: 'Requests of the API',
    labelNames: ['operation', 'status'],
    registers,
  });
  const duration = new Histogram({
    name: 'porthole_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer',
    labelNames: ['operation'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers,
  });
  const previewRequests = new Counter({
    name: 'porthole_preview_requests_total',
    help: 'Requests through previews',
    labelNames: ['status'],
    registers,
  });
  const previewBytes = new Counter({
    name: 'porthole_preview_bytes_total',
    help: 'Bytes of bodies and upgraded connections',
    labelNames: ['direction'],
    registers,
  });
  const archives = new Counter({
    name: 'porthole_archives_total',
    help: 'Attempts to archive a workspace before its sandbox is destroyed; one that failed is repeated by the next pass',
    labelNames: ['outcome'],
    registers,
  });
  const upgrades = new Gauge({
    name: 'porthole_preview_upgrades',
    help: 'Open upgraded connections (WebSocket)',
    registers,
  });
  return {
    requested(operation, status, seconds) {
      requests.inc({ operation, status });
      duration.observe({ operation }, seconds);
    },
    archived: (outcome) => archives.inc({ outcome }),
    previewRequested: (status) => previewRequests.inc({ status }),
    previewBytes: (direction, bytes) => previewBytes.inc({ direction }, bytes),
    previewUpgrades: (change) => upgrades.inc(change),
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
  };
}
