import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { IOtlpExportDelegate } from '@opentelemetry/otlp-exporter-base';
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from '@opentelemetry/otlp-exporter-base/node-http';
import {
  type IExporterMetricsHelper,
  type ISerializer,
  JsonMetricsSerializer,
  JsonTraceSerializer,
  MetricsExporterMetricsHelper,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
} from '@opentelemetry/otlp-transformer';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';

export type OtlpProtocol = 'http/protobuf' | 'http/json';

const CONTENT_TYPES: Readonly<Record<OtlpProtocol, string>> = {
  'http/protobuf': 'application/x-protobuf',
  'http/json': 'application/json',
};

/** What the log says of the collector: once when it fails, and once when it answers again. */
export interface CollectorLog {
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

/** Whether the collector has failed since it last answered; shared by all signals. */
export class CollectorState {
  readonly #log: CollectorLog;
  #isFailing = false;

  constructor(log: CollectorLog) {
    this.#log = log;
  }

  exported({ code, error }: ExportResult): void {
    const isFailing = code === ExportResultCode.FAILED;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    if (isFailing) {
      this.#log.warn(
        { err: error },
        'telemetry is not exported: check the collector and the OTEL_ variables',
      );
    } else this.#log.info({}, 'telemetry is exported again');
  }
}

/** Reads endpoint, headers, timeout, compression and certificates from `OTEL_EXPORTER_OTLP_*`. */
function otlpExporter<Items, Response>(
  { signal, protocol, state }: { signal: string; protocol: OtlpProtocol; state: CollectorState },
  serializer: ISerializer<Items, Response>,
  helper: IExporterMetricsHelper<Items>,
): IOtlpExportDelegate<Items> {
  const path = `v1/${signal}`;
  const headers = { 'Content-Type': CONTENT_TYPES[protocol] };
  const options = convertLegacyHttpOptions({}, signal.toUpperCase(), path, headers);
  const exporter = createOtlpHttpExportDelegate(
    options,
    serializer,
    `otlp_http_${signal}`,
    helper,
    undefined,
  );
  return {
    export: (items, done) =>
      exporter.export(items, (result) => {
        state.exported(result);
        done(result);
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
    setMetrics: (metrics) => exporter.setMetrics(metrics),
  };
}

export function otlpSpanExporter(protocol: OtlpProtocol, state: CollectorState): SpanExporter {
  const serializer = protocol === 'http/json' ? JsonTraceSerializer : ProtobufTraceSerializer;
  return otlpExporter({ signal: 'traces', protocol, state }, serializer, TraceExporterMetricsHelper);
}

export function otlpMetricExporter(protocol: OtlpProtocol, state: CollectorState): PushMetricExporter {
  const serializer = protocol === 'http/json' ? JsonMetricsSerializer : ProtobufMetricsSerializer;
  return otlpExporter({ signal: 'metrics', protocol, state }, serializer, MetricsExporterMetricsHelper);
}
