import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** As in the protocol: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  /** Nanoseconds, as text. */
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  /** 2 is an error. */
  readonly status: { readonly code?: number; readonly message?: string };
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** An attribute in the JSON form of OTLP's protobuf definitions. */
interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Point<Attributes = readonly KeyValue[]> {
  readonly attributes: Attributes;
  readonly asDouble?: number;
  readonly count?: number;
  readonly explicitBounds?: readonly number[];
  readonly bucketCounts?: readonly (number | string)[];
}

interface Metric<Attributes = readonly KeyValue[]> {
  readonly name: string;
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly Point<Attributes>[] };
  readonly gauge?: { readonly dataPoints: readonly Point<Attributes>[] };
  readonly histogram?: { readonly dataPoints: readonly Point<Attributes>[] };
}

export type ReceivedMetric = Metric<Readonly<Record<string, unknown>>>;

interface MetricsRequest {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly Metric[] }[];
  }[];
}

interface TracesRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, 'attributes'> & {
        readonly attributes: readonly KeyValue[];
      })[];
    }[];
  }[];
}

export interface Request {
  readonly path: string;
  readonly type: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

/** A collector that speaks OTLP with JSON, and keeps what it gets. */
export interface OtlpCollector {
  readonly url: string;
  readonly requests: readonly Request[];
  spans(): readonly ReceivedSpan[];
  /** Of the resource that sent the last spans. */
  resource(): Readonly<Record<string, unknown>>;
  /** The span, once it has arrived. */
  span(is: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
  /** The next metrics after that many requests. */
  metrics(after: number): Promise<readonly ReceivedMetric[]>;
  close(): void;
}

const POLL_MS = 20;
const ARRIVES_WITHIN_MS = 10_000;

const valuesOf = (attributes: readonly KeyValue[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

function metricsOf({ resourceMetrics }: MetricsRequest): ReceivedMetric[] {
  const read = <Data extends { readonly dataPoints: readonly Point[] }>(data: Data) => ({
    ...data,
    dataPoints: data.dataPoints.map((point) => ({ ...point, attributes: valuesOf(point.attributes) })),
  });
  return resourceMetrics.flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) =>
      metrics.map(({ name, sum, gauge, histogram }) => ({
        name,
        ...(sum && { sum: read(sum) }),
        ...(gauge && { gauge: read(gauge) }),
        ...(histogram && { histogram: read(histogram) }),
      })),
    ),
  );
}

export async function startCollector(): Promise<OtlpCollector> {
  const requests: Request[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.once('end', () => {
      const { url: path = '', headers } = req;
      requests.push({ path, type: headers['content-type'] ?? '', headers, body: Buffer.concat(chunks) });
      res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const traces = () =>
    requests
      .filter(({ path, type }) => path === '/v1/traces' && type === 'application/json')
      .flatMap(({ body }) => (JSON.parse(body.toString()) as TracesRequest).resourceSpans);
  const spans = () =>
    traces().flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap((scope) =>
        scope.spans.map((span) => ({ ...span, attributes: valuesOf(span.attributes) })),
      ),
    );
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    spans,
    resource: () => valuesOf(traces().at(-1)?.resource.attributes ?? []),
    async span(is) {
      const until = Date.now() + ARRIVES_WITHIN_MS;
      for (;;) {
        const found = spans().find(is);
        if (found !== undefined) return found;
        if (Date.now() > until) {
          throw new Error(
            `the span has not arrived; there are ${spans()
              .map(({ name }) => name)
              .join(', ')}`,
          );
        }
        await delay(POLL_MS);
      }
    },
    async metrics(after) {
      const until = Date.now() + ARRIVES_WITHIN_MS;
      for (;;) {
        const found = requests.slice(after).find(({ path }) => path === '/v1/metrics');
        if (found !== undefined) return metricsOf(JSON.parse(found.body.toString()) as MetricsRequest);
        if (Date.now() > until) throw new Error('no metrics have arrived');
        await delay(POLL_MS);
      }
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
