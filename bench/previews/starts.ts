import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { startFaultProxy } from '#test/cluster/faults/fault-proxy.ts';
import { atMost, type BenchResult, compare, interleave, limited, timed } from '../measure.ts';
import { RUN } from '../agent-run.ts';
import { barePreviews } from './bare-previews.ts';
import type { PreviewFixture } from './preview-fixture.ts';
import { previewFunctions } from './preview-functions.ts';

const READS = new Set(['get', 'list']);

/**
 * P1 and P14: the API calls of a start, a keepalive and a stop, and their extra time over the same
 * calls alone.
 */
export async function benchStarts(fixture: PreviewFixture, rounds: number): Promise<BenchResult[]> {
  const namespace = await fixture.newNamespace('starts');
  return [...(await countCalls(fixture, namespace)), ...(await timeCalls(fixture, namespace, rounds))];
}

async function countCalls(fixture: PreviewFixture, namespace: string): Promise<BenchResult[]> {
  const proxy = await startFaultProxy(fixture.access);
  const client = createKubernetesClient({ access: proxy.access });
  const functions = await previewFunctions(fixture.planeOf(namespace, { client }));
  try {
    const callsOf = async (does: () => Promise<unknown>) => {
      const before = proxy.calls.length;
      await does();
      const calls = proxy.calls.slice(before);
      const reads = calls.filter(({ verb }) => READS.has(verb)).length;
      return { reads, writes: calls.length - reads };
    };
    let token = '';
    const start = await callsOf(async () => (token = await functions.start()));
    const keepAlive = await callsOf(() => functions.keepAlive(token));
    await functions.stop(token);
    const counted = (name: string, count: number, most: number) =>
      limited(`${name}: calls of the API server / allowed`, [count], most, '', 'made');
    return [
      counted('P1 start, reads', start.reads, 3),
      counted('P1 start, writes', start.writes, 2),
      counted('P14 keepalive', keepAlive.reads + keepAlive.writes, 1),
    ];
  } finally {
    await functions.close();
    client.close();
    await proxy.close();
  }
}

async function timeCalls(fixture: PreviewFixture, namespace: string, rounds: number): Promise<BenchResult[]> {
  const own = fixture.planeOf(namespace);
  const functions = await previewFunctions(own);
  const bare = barePreviews(fixture.bare, namespace);
  const starts = {
    start: async () => {
      const began = performance.now();
      const token = await functions.start();
      const took = performance.now() - began;
      await functions.stop(token);
      return took;
    },
    bare: async () => {
      const start = bare.start();
      const began = performance.now();
      const name = await start();
      const took = performance.now() - began;
      await bare.stop(name);
      return took;
    },
  };
  try {
    const warmUp = Math.min(30, rounds);
    const started = await interleave(starts, rounds, warmUp);
    const token = await functions.start();
    const name = await bare.start()();
    const inHalfAnHour = () => new Date(Date.now() + 1_800_000);
    const keepalives = {
      function: timed(() => functions.keepAlive(token)),
      plane: timed(() => own.plane.touch(token, RUN, inHalfAnHour())),
      bare: timed(() => bare.keepAlive(name)),
    };
    const kept = await interleave(keepalives, rounds, warmUp);
    await functions.stop(token);
    await bare.stop(name);
    return [
      compare('P1 start / the same calls bare', started, ['start', 'bare'], 'ms', atMost(1.08)),
      compare(
        'P1 start / the same calls bare, slowest of each hundred',
        worst(started),
        ['start', 'bare'],
        'ms',
        atMost(1.25),
      ),
      compare('P14 keepalive, whole function / a bare merge patch', kept, ['function', 'bare'], 'ms'),
      compare('P14 keepalive / a bare merge patch', kept, ['plane', 'bare'], 'ms', atMost(1.1)),
    ];
  } finally {
    await functions.close();
  }
}

/**
 * The second slowest of each hundred: about the 99th percentile, and robust to a single outlier.
 */
function worst<Name extends string>(figures: Record<Name, number[]>): Record<Name, number[]> {
  const HUNDRED = 100;
  const ofArm = (values: readonly number[]) =>
    Array.from({ length: Math.max(1, Math.floor(values.length / HUNDRED)) }, (_, at) => {
      const some = values.slice(at * HUNDRED, (at + 1) * HUNDRED).toSorted((a, b) => b - a);
      return some[1] ?? (some[0] as number);
    });
  return Object.fromEntries(
    Object.entries<number[]>(figures).map(([name, values]) => [name, ofArm(values)]),
  ) as Record<Name, number[]>;
}
