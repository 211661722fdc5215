type Variables = Readonly<Record<string, unknown>>;

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;

/** An OpenTelemetry collector. The SDK reads its other variables itself. */
export interface Collector {
  readonly protocol: (typeof PROTOCOLS)[number];
  /** `name=value,name=value` */
  readonly headers: string | undefined;
}

/** Undefined without an endpoint: nothing is traced. */
export function collectorOf({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
  OTEL_EXPORTER_OTLP_HEADERS: headers,
}: Variables): Collector | undefined {
  if (typeof endpoint !== 'string' || endpoint === '') return undefined;
  return {
    protocol: PROTOCOLS.find((each) => each === protocol) ?? PROTOCOLS[0],
    headers: typeof headers === 'string' ? headers : undefined,
  };
}

/** Other programs may speak gRPC with a collector, so it is only checked with one for Porthole. */
export function collectorProblems({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
}: Readonly<Record<string, string | undefined>>): string[] {
  if (!endpoint || !protocol || PROTOCOLS.some((each) => each === protocol)) return [];
  return [`OTEL_EXPORTER_OTLP_PROTOCOL: ${protocol}: must be ${PROTOCOLS.join(' or ')}`];
}

/** Shorter ones are words, such as names of tenants, and no credentials. */
const MIN_SECRET_LENGTH = 12;

/** The values of its headers that logs must not contain. */
export function headerValues(collector: Collector | undefined): string[] {
  const values = (collector?.headers ?? '')
    .split(',')
    .map((each) => each.slice(each.indexOf('=') + 1).trim());
  return values.filter(({ length }) => length >= MIN_SECRET_LENGTH);
}
