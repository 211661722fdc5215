/** Rules and dashboard name what a real scrape has. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';
import { ROUTES } from '#handlers/features.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';

const FOLDER = join(import.meta.dirname, '../../deploy/monitoring');

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly annotations?: { readonly summary: string };
}
const { groups } = parse(readFileSync(join(FOLDER, 'rules.yaml'), 'utf8')) as {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(readFileSync(join(FOLDER, 'dashboard.json'), 'utf8')) as {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
};
const queries = [
  ...rules.map(({ record, alert, expr }) => [record ?? alert ?? '', expr] as const),
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
];

/** The texts of all nodes of that kind in a query. @throws Error if it is not PromQL */
function textsOf(expr: string, kind: string): string[] {
  const texts: string[] = [];
  parser.parse(expr).iterate({
    enter({ type, from, to }) {
      if (type.isError) throw new Error(`no PromQL at ${from}: ${expr}`);
      if (type.name === kind) texts.push(expr.slice(from, to));
    },
  });
  return texts;
}

let porthole: TestHost;
let metrics: ReadonlySet<string>;
let labels: ReadonlySet<string>;
beforeAll(async () => {
  porthole = await startTestHost();
  await porthole.call('GET', '/health');
  const { text } = await porthole.call('GET', '/metrics');
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  const names = types.flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name],
  );
  metrics = new Set([...names, ...rules.flatMap(({ record }) => record ?? [])]);
  labels = new Set([
    'job',
    'status',
    'direction',
    'outcome',
    ...[...text.matchAll(/[{,](\w+)="/g)].map(([, label = '']) => label),
  ]);
});
afterAll(() => porthole.end());

describe.each(queries)('%s', (_name, expr) => {
  test('is PromQL of metrics and labels that a scrape has', () => {
    const named = textsOf(expr, 'Identifier');
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !metrics.has(name))).toEqual([]);
    expect(textsOf(expr, 'LabelName').filter((name) => !labels.has(name))).toEqual([]);
  });

  test('names operations that exist', () => {
    const operations = [...expr.matchAll(/operation="(\w+)"/g)].map(([, id]) => id);
    expect(operations.filter((id) => !ROUTES.some((route) => route.id === id))).toEqual([]);
  });
});

test('a name that no scrape has, and what is no PromQL, are noticed', () => {
  expect(textsOf('sum(rate(porthole_no_such[5m]))', 'Identifier')).toEqual(['porthole_no_such']);
  expect(metrics.has('porthole_no_such')).toBe(false);
  expect(() => textsOf('sum(rate(', 'Identifier')).toThrow('no PromQL');
});

test('every alert has a summary, and every objective its rule', () => {
  const alerts = rules.filter(({ alert }) => alert !== undefined);
  expect(alerts.filter(({ annotations }) => (annotations?.summary ?? '') === '')).toEqual([]);
  expect(rules.map(({ record }) => record)).toEqual(
    expect.arrayContaining([
      'porthole:preview_failures:ratio_rate1h',
      'porthole:create_seconds:p95_5m',
      'porthole:exec_seconds:p95_5m',
    ]),
  );
});
