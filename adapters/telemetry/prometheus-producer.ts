import { type HrTime, ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type HistogramMetricData,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';

type Labels = Readonly<Record<string, string | number | undefined>>;

interface Sample {
  /** Of a histogram: `…_bucket`, `…_sum` or `…_count`. */
  readonly metricName?: string | undefined;
  readonly labels: Labels;
  readonly value: number;
}

/** A metric as Prometheus' registry has it. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly Sample[];
}

/** The metrics of the one registry, under the same names, so that nothing is counted twice. */
export function prometheusProducer(
  read: () => Promise<readonly MetricFamily[]>,
  version: string,
): MetricProducer {
  const began = millisToHrTime(performance.timeOrigin);
  return {
    async collect() {
      const now = millisToHrTime(Date.now());
      const metrics = (await read()).flatMap((family) => metricOf(family, began, now) ?? []);
      const scopeMetrics = [{ scope: { name: 'porthole', version }, metrics }];
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] };
    },
  };
}

/** Undefined for a summary, which OTLP has for old data only. */
function metricOf(family: MetricFamily, startTime: HrTime, endTime: HrTime): MetricData | undefined {
  const { name, help: description, type, values } = family;
  const common = {
    descriptor: {
      name,
      description,
      unit: name.includes('_seconds') ? 's' : '',
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const times = { startTime, endTime };
  if (type === 'histogram') {
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramsOf(family, times) };
  }
  const dataPoints = values.map(({ labels, value }) => ({ ...times, attributes: { ...labels }, value }));
  if (type === 'counter')
    return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
  return type === 'gauge' ? { ...common, dataPointType: DataPointType.GAUGE, dataPoints } : undefined;
}

type Times = Pick<DataPoint<number>, 'startTime' | 'endTime'>;

function histogramsOf({ name, values }: MetricFamily, times: Times): HistogramMetricData['dataPoints'] {
  const series = Map.groupBy(values, ({ labels: { le: _le, ...others } }) => JSON.stringify(others));
  return [...series.values()].map((samples) => {
    const { le: _, ...attributes } = samples[0]?.labels ?? {};
    const one = (suffix: string) =>
      samples.find(({ metricName }) => metricName === `${name}${suffix}`)?.value ?? 0;
    const buckets = samples.filter(({ metricName }) => metricName === `${name}_bucket`);
    return {
      ...times,
      attributes,
      value: {
        buckets: {
          boundaries: buckets.map(({ labels }) => Number(labels['le'])).filter(Number.isFinite),
          // Prometheus counts each observation in all larger buckets, too.
          counts: buckets.map(({ value }, at) => value - (buckets[at - 1]?.value ?? 0)),
        },
        sum: one('_sum'),
        count: one('_count'),
      },
    };
  });
}
