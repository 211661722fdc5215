import { cluster, missing } from '#test/cluster/fixture/cluster.ts';
import type { BenchResult } from './measure.ts';
import { openPreviewFixture } from './previews/preview-fixture.ts';
import { benchReadiness } from './previews/readiness-lag.ts';
import { benchReaping } from './previews/reaping.ts';
import { benchScale, timeLives } from './previews/scale.ts';
import { seedPreviews } from './previews/seed-previews.ts';
import { benchStarts } from './previews/starts.ts';

export interface PreviewsBenchOptions {
  /** Number of previews in a full namespace. */
  readonly previews?: number;
  /** Pairs of starts, of stops, of keepalives. */
  readonly pairs?: number;
  /** Passes of a reaper. */
  readonly rounds?: number;
  /** Number of previews that one pass ends. */
  readonly expired?: number;
  /** Share of the starts behind slow gateways. */
  readonly share?: number;
}

/**
 * Previews in a cluster: the cost of a start, a keepalive, a stop and a reaper's pass on a real API
 * server, that of `KUBECONFIG` or the test cluster's, and the delay of reported readiness.
 */
export async function benchPreviews(options: PreviewsBenchOptions = {}): Promise<BenchResult[]> {
  const { previews = 10_000, pairs = 400, rounds = 9, expired = 100, share = 1 } = options;
  const problem = process.env['KUBECONFIG'] === undefined ? missing() : undefined;
  if (problem !== undefined) {
    process.stdout.write(`  This bench is left out: ${problem}.\n`);
    return [];
  }
  const kubeconfig = process.env['KUBECONFIG'] ?? (await cluster()).kubeconfig;
  const fixture = await openPreviewFixture(kubeconfig);
  try {
    const starts = await benchStarts(fixture, pairs);
    const readiness = await benchReadiness(fixture, share);
    const [full, empty] = [await fixture.newNamespace('full'), await fixture.newNamespace('empty')];
    const [before] = await timeLives(fixture, [full], pairs);
    const seededAt = new Date();
    await seedPreviews(fixture.planeOf(full).plane, previews, seededAt);
    const scale = await benchScale(fixture, { full, empty, count: previews, before });
    const reaping = await benchReaping(fixture, { kubeconfig, full, empty, seededAt, rounds, expired });
    return [...starts, ...readiness, ...scale, ...reaping];
  } finally {
    await fixture.close();
  }
}
