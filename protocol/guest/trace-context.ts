/** W3C Trace Context: the two headers that carry a trace from one program to the next. */

/** Headers of any request. */
export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export type TraceHeaders = {
  readonly traceparent?: string;
  readonly tracestate?: string;
};

const TRACEPARENT = /^[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;
/** Printable ASCII; longer states may be dropped (section 3.3.1.5). */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** Undefined without a valid `traceparent`; an invalid `tracestate` is left out. */
export function traceHeadersOf(headers: ReceivedHeaders): TraceHeaders | undefined {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined;
  return typeof tracestate === 'string' && TRACESTATE.test(tracestate)
    ? { traceparent, tracestate }
    : { traceparent };
}

/** The same for a process, by OpenTelemetry's convention for environment variables. */
export function traceEnvironment(headers: ReceivedHeaders): Record<string, string> {
  const { traceparent, tracestate } = traceHeadersOf(headers) ?? {};
  return {
    ...(traceparent !== undefined && { TRACEPARENT: traceparent }),
    ...(tracestate !== undefined && { TRACESTATE: tracestate }),
  };
}
