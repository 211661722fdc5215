import type { IncomingMessage } from 'node:http';
import { traced, traceHeaders } from '#core/telemetry/tracing.ts';
import type { ExchangeTrace } from '#proxy/preview-proxy-deps.ts';
import type { PreviewTarget } from '#proxy/preview-target.ts';
import { answered, spanMethod } from './traced-request.ts';

/**
 * A request through a preview as a span, which the app continues. Without URL and token of the
 * preview: they open it.
 */
export function tracePreviewRequest(
  { method, headers: parent }: IncomingMessage,
  { sandboxId, runId, targetPort }: PreviewTarget,
): ExchangeTrace {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const [known, named] = spanMethod(method);
  const attributes = {
    'http.request.method': known,
    'porthole.sandbox.id': sandboxId,
    'porthole.run.id': runId,
    'porthole.preview.port': targetPort,
  };
  return traced(
    { name: `${named} preview`, kind: 'server', attributes, parent, until: () => promise },
    (span) => {
      void promise.then((status) => answered(span, status));
      return { headers: traceHeaders(), end: resolve };
    },
  );
}
