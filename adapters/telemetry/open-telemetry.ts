import {
  type Context,
  context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { getNumberFromEnv, millisToHrTime, W3CTraceContextPropagator } from '@opentelemetry/core';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { PortholeError } from '#base/errors.ts';
import type { SpanStart, Tracing, WorkSpan } from '#core/telemetry/tracing.ts';
import type { TraceHeaders } from '#protocol/guest/trace-context.ts';
import {
  type CollectorLog,
  CollectorState,
  type OtlpProtocol,
  otlpMetricExporter,
  otlpSpanExporter,
} from './otlp-exporter.ts';
import { type MetricFamily, prometheusProducer } from './prometheus-producer.ts';

export interface OpenTelemetryOptions {
  readonly protocol: OtlpProtocol;
  readonly version: string;
  readonly log: CollectorLog;
  /** Reads Prometheus' registry. @default - no metrics are sent */
  readonly readMetrics?: (() => Promise<readonly MetricFamily[]>) | undefined;
}

export interface OpenTelemetry {
  readonly tracing: Tracing;
  /** Sends what has ended so far. Never rejects, and waits at most `withinMs`. */
  readonly flush: (withinMs?: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** As the specification of the SDK has it, in milliseconds. */
const METRICS_EVERY_MS = 60_000;

/** The longest that an end waits for a collector, in milliseconds. */
const CLOSES_WITHIN_MS = 2_000;

const KINDS = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;

/**
 * Traces and metrics to an OTLP collector. The SDK reads its standard variables (`OTEL_*`) itself.
 * Its queue is bounded: without a collector, spans are dropped.
 */
export function openTelemetry({ protocol, version, log, readMetrics }: OpenTelemetryOptions): OpenTelemetry {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const resource = resourceFromAttributes({ 'service.name': 'porthole', 'service.version': version }).merge(
    detectResources({ detectors: [envDetector] }),
  );
  const state = new CollectorState(log);
  const spans = new BatchSpanProcessor(otlpSpanExporter(protocol, state));
  const provider = new BasicTracerProvider({ resource, spanProcessors: [spans] });
  // The reader refuses less: a wrong variable must not keep the host from starting.
  const every = Math.max(getNumberFromEnv('OTEL_METRIC_EXPORT_INTERVAL') ?? METRICS_EVERY_MS, 1);
  let isOpen = true;
  const reader =
    readMetrics &&
    new PeriodicExportingMetricReader({
      exporter: otlpMetricExporter(protocol, state),
      exportIntervalMillis: every,
      exportTimeoutMillis: every,
      // At the end the reader collects once more, when the services behind some metrics are closed.
      metricProducers: [prometheusProducer(() => (isOpen ? readMetrics() : Promise.resolve([])), version)],
    });
  const meters = new MeterProvider({ resource, readers: reader === undefined ? [] : [reader] });
  // A collector that fails was logged by the exporter.
  const flush = (withinMs = CLOSES_WITHIN_MS) =>
    settledWithin(
      withinMs,
      provider.forceFlush().catch(() => undefined),
    );
  return {
    tracing: tracingOf(provider, version),
    flush,
    async close() {
      isOpen = false;
      await settledWithin(CLOSES_WITHIN_MS, Promise.allSettled([provider.shutdown(), meters.shutdown()]));
      context.disable();
    },
  };
}

function tracingOf(provider: BasicTracerProvider, version: string): Tracing {
  const tracer = provider.getTracer('porthole', version);
  const propagator = new W3CTraceContextPropagator();
  const start = (
    { name, kind = 'internal', attributes = {} }: Omit<SpanStart<never>, 'until'>,
    from: Context,
    times: Pick<SpanOptions, 'startTime'> = {},
  ) =>
    // Set afterwards: the SDK copies the attributes that a span starts with three times.
    tracer.startSpan(name, { kind: KINDS[kind], ...times }, from).setAttributes(attributes);
  return {
    run({ parent, until, ...span }, work) {
      const present = context.active();
      if (parent === undefined && isLeftOut(present, span.kind)) return work();
      const from =
        parent === undefined ? present : propagator.extract(ROOT_CONTEXT, parent, defaultTextMapGetter);
      const started = start(span, from);
      const within = trace.setSpan(from, started);
      // Of a trace that is not sampled only the context is needed: it keeps other spans out.
      if (!started.isRecording()) return context.with(within, work);
      return context.with(within, () => ended(started, until, work));
    },
    add(name, began, attributes, failure) {
      const present = context.active();
      if (isLeftOut(present, 'client')) return;
      const endTime = Date.now();
      const startTime = millisToHrTime(endTime - (performance.now() - began));
      const span = start({ name, kind: 'client', attributes }, present, { startTime });
      if (failure !== undefined) fail(span, failure);
      // Otherwise the SDK reads whole milliseconds of the clock again, and most queries take none.
      span.end(millisToHrTime(endTime));
    },
    headers() {
      const headers: TraceHeaders = {};
      propagator.inject(context.active(), headers, defaultTextMapSetter);
      return headers;
    },
    ids() {
      const found = trace.getSpan(context.active())?.spanContext();
      return found && { trace_id: found.traceId, span_id: found.spanId };
    },
  };
}

/** Of a trace that is not sampled nothing is recorded, so its spans need not begin. */
function isLeftOut(present: Context, kind: SpanStart<never>['kind']): boolean {
  const span = trace.getSpan(present);
  return span === undefined ? kind === 'client' : !span.isRecording();
}

function ended<T>(span: Span, until: SpanStart<Awaited<T>>['until'], work: (span?: WorkSpan) => T): T {
  const failed = (error: unknown): void => {
    fail(span, typeOf(error));
    span.end();
  };
  const rethrown = (error: unknown): never => {
    failed(error);
    throw error;
  };
  let result: T;
  try {
    result = work({
      set: (attributes) => void span.setAttributes(attributes),
      fail: (type) => fail(span, type),
    });
  } catch (error) {
    return rethrown(error);
  }
  const finish = (value: Awaited<T>): Awaited<T> => {
    if (until === undefined) span.end();
    else until(value).then(() => span.end(), failed);
    return value;
  };
  return (result instanceof Promise ? result.then(finish, rethrown) : finish(result as Awaited<T>)) as T;
}

/** Without the message and the stack, which repeat input. */
function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

function typeOf(error: unknown): string {
  if (error instanceof PortholeError) return error.code;
  return error instanceof Error ? error.name : 'Error';
}

async function settledWithin(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}
