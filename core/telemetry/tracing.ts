import type { Attributes } from '@opentelemetry/api';
import type { ReceivedHeaders, TraceHeaders } from '#protocol/guest/trace-context.ts';
import { presentCause } from '../audit/present-cause.ts';

/** A span while its work runs. */
export interface WorkSpan {
  /** Never a token, a URL, a command, a path or a query: traces have other readers than the API. */
  set(attributes: Attributes): void;
  /** @param type a code of few values, never a message */
  fail(type: string): void;
}

export interface SpanStart<T> {
  /** One of few: ids are attributes. */
  readonly name: string;
  /** A `client` span is left out where nothing is traced. @default internal */
  readonly kind?: 'internal' | 'server' | 'client';
  readonly attributes?: Attributes;
  /** Headers of a request that may continue its client's trace. @default the present span */
  readonly parent?: ReceivedHeaders;
  /** The span ends with it. @default the end of the work */
  readonly until?: (result: T) => Promise<unknown>;
}

/** What an SDK implements. */
export interface Tracing {
  run<T>(span: SpanStart<Awaited<T>>, work: (span?: WorkSpan) => T): T;
  /** Adds a client span that has ended. `began` in milliseconds of `performance.now()`. */
  add(name: string, began: number, attributes: Attributes, failure?: string): void;
  /** Headers that continue the present span. */
  headers(): TraceHeaders;
  /** Fields of a log line; undefined outside of a span. */
  ids(): { readonly trace_id: string; readonly span_id: string } | undefined;
}

let used: Tracing | undefined;

/** @param tracing undefined: nothing is traced */
export function useTracing(tracing: Tracing | undefined): void {
  used = tracing;
}

/** Undefined: nothing is traced, and no span costs anything. */
export function presentTracing(): Tracing | undefined {
  return used;
}

/** Runs the work in a span. An error of the work is the span's, and is thrown on. */
export function traced<T>(span: SpanStart<Awaited<T>>, work: (span?: WorkSpan) => T): T {
  return used === undefined ? work() : used.run(span, work);
}

const NO_TRACE: TraceHeaders = {};

/** Headers for the next program: of the present span, else as the request has brought them. */
export function traceHeaders(): TraceHeaders {
  return used?.headers() ?? presentCause().trace ?? NO_TRACE;
}

/** Fields of a log line. */
export function traceIds(): object | undefined {
  return used?.ids();
}
