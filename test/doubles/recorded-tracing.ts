import type { Attributes } from '@opentelemetry/api';
import { type Tracing, useTracing } from '#core/telemetry/tracing.ts';

export interface RecordedSpan {
  readonly name: string;
  readonly attributes: Attributes;
  /** Whether its work has thrown. */
  failed: boolean;
}

/** Records spans until its end. It has no trace: spans of clients are recorded too. */
export function recordTracing(): { readonly spans: readonly RecordedSpan[]; end(): void } {
  const spans: RecordedSpan[] = [];
  const begin = (name: string, attributes: Attributes = {}): RecordedSpan => {
    const span = { name, attributes: { ...attributes }, failed: false };
    spans.push(span);
    return span;
  };
  const tracing: Tracing = {
    run({ name, attributes }, work) {
      const span = begin(name, attributes);
      const failed = (): void => void (span.failed = true);
      try {
        const result = work({ set: (more) => Object.assign(span.attributes, more), fail: failed });
        if (result instanceof Promise) result.catch(failed);
        return result;
      } catch (error) {
        failed();
        throw error;
      }
    },
    add: (name, _began, attributes) => void begin(name, attributes),
    headers: () => ({}),
    ids: () => undefined,
  };
  useTracing(tracing);
  return { spans, end: () => useTracing(undefined) };
}
