import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  SpanKind,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A program with the SDK of OpenTelemetry, beside Porthole. It keeps its spans. */
export class TracedService {
  readonly #kept = new InMemorySpanExporter();
  readonly #provider: BasicTracerProvider;
  readonly #propagator = new W3CTraceContextPropagator();

  constructor(name: string) {
    this.#provider = new BasicTracerProvider({
      resource: resourceFromAttributes({ 'service.name': name }),
      spanProcessors: [new SimpleSpanProcessor(this.#kept)],
    });
  }

  /** Runs the work in a span that continues the headers' trace; the work continues its headers. */
  async run<T>(
    name: string,
    parent: Headers,
    kind: 'INTERNAL' | 'SERVER' | 'CLIENT',
    work: (headers: Record<string, string>) => Promise<T> | T,
  ): Promise<T> {
    const from: Context = this.#propagator.extract(ROOT_CONTEXT, parent, defaultTextMapGetter);
    const span = this.#provider.getTracer('tests').startSpan(name, { kind: SpanKind[kind] }, from);
    const headers: Record<string, string> = {};
    this.#propagator.inject(trace.setSpan(from, span), headers, defaultTextMapSetter);
    try {
      return await work(headers);
    } finally {
      span.end();
    }
  }

  /** What has ended so far, as JSON of OTLP. */
  spans(): string {
    return Buffer.from(JsonTraceSerializer.serializeRequest(this.#kept.getFinishedSpans()) ?? []).toString();
  }
}
