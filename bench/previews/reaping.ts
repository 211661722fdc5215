import { collection, HTTP_ROUTES, SERVICES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { gate } from '#adapters/kubernetes/client/exchange.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Preview, PreviewPlane } from '#core/previews/preview-plane.ts';
import type { Records } from '#core/records.ts';
import { isFullPass } from '#core/previews/preview-lifetime.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { startFaultProxy } from '#test/cluster/faults/fault-proxy.ts';
import { atMost, type BenchResult, compare, interleave, limited, startWorker, timed } from '../measure.ts';
import { startByteCounter } from './byte-counter.ts';
import type { PreviewFixture } from './preview-fixture.ts';
import { seedPreviews } from './seed-previews.ts';

export interface ReapingOptions {
  readonly kubeconfig: string;
  readonly full: string;
  readonly empty: string;
  /** When the namespace was filled: nothing is due then. */
  readonly seededAt: Date;
  readonly rounds: number;
  /** Number of previews that expire at once. */
  readonly expired: number;
}

const MINUTE = 60_000;
const MAX_GROWTH_MB = 48;
/** Like a pod: without a limit, Node keeps gigabytes of garbage. */
const SMALL_HEAP = ['--max-old-space-size=64', '--max-semi-space-size=2'];
const PASS = 'pass';
const WHOLE_PASS = 'whole pass';
const LIST = 'one list of all routes';

/** P4 and P5: a reaper's pass with no due previews, and with many. */
export async function benchReaping(fixture: PreviewFixture, options: ReapingOptions): Promise<BenchResult[]> {
  const records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
  try {
    return [
      ...(await benchScan(fixture, records, options)),
      await benchMemory(options),
      ...(await benchDeletes(fixture, records, options)),
    ];
  } finally {
    await records.close();
  }
}

/** A minute of each kind, at or soon after that time. */
function passTimes(from: Date): { readonly ordinary: Date; readonly whole: Date } {
  const minutes = Array.from({ length: 20 }, (_, at) => new Date(from.getTime() - at * MINUTE));
  const of = (isWhole: boolean) => minutes.find((time) => isFullPass(time) === isWhole) ?? from;
  return { ordinary: of(false), whole: of(true) };
}

async function benchScan(
  fixture: PreviewFixture,
  records: Records,
  { full, seededAt, rounds }: ReapingOptions,
): Promise<BenchResult[]> {
  const plain = await startFaultProxy(fixture.access);
  const counter = await startByteCounter(plain.access);
  const client = createKubernetesClient({ access: counter.access });
  const { plane, previewSettings } = fixture.planeOf(full);
  const counted = fixture.planeOf(full, { client });
  const times = passTimes(seededAt);
  const routes = collection(HTTP_ROUTES, full).path;
  const pass = (by: PreviewPlane, now: Date) =>
    reapPreviews({ plane: by, records, previewSettings, clock: { now: () => now } });
  try {
    const arms = {
      [PASS]: timed(() => pass(plane, times.ordinary)),
      [WHOLE_PASS]: timed(() => pass(plane, times.whole)),
      [LIST]: timed(() => fixture.bare.call('GET', routes)),
    };
    const figures = await interleave(arms, rounds, 1);
    const all = (await fixture.bare.call('GET', routes)).length;
    const bytesOf = async (now: Date) => {
      const before = counter.bytes();
      await pass(counted.plane, now);
      return counter.bytes() - before;
    };
    const bytes = {
      [PASS]: [await bytesOf(times.ordinary)],
      [WHOLE_PASS]: [await bytesOf(times.whole)],
      [LIST]: [all],
    };
    const MEAN = 'mean of ten passes';
    const mean = ({ [PASS]: ordinary = [], [WHOLE_PASS]: whole = [] }: Readonly<Record<string, number[]>>) =>
      ordinary.map((value, at) => (9 * value + (whole[at] ?? Number.NaN)) / 10);
    const ORDINARY = atMost(0.1);
    const ALL = atMost(1);
    return [
      compare(
        'P4 a pass, as a mean of ten / one list of all routes',
        { ...figures, [MEAN]: mean(figures) },
        [MEAN, LIST],
        'ms',
        ALL,
      ),
      compare(
        'P4 a pass, as a mean of ten / one list, what the server sends',
        { ...bytes, [MEAN]: mean(bytes) },
        [MEAN, LIST],
        'B',
        ALL,
      ),
      compare('P4 nine of ten passes / one list of all routes', figures, [PASS, LIST], 'ms', ORDINARY),
      compare('P4 nine of ten passes / one list, what the server sends', bytes, [PASS, LIST], 'B', ORDINARY),
      compare(
        'P4 every tenth pass, over everything / one list of all routes',
        figures,
        [WHOLE_PASS, LIST],
        'ms',
      ),
      compare('P4 every tenth pass / one list, what the server sends', bytes, [WHOLE_PASS, LIST], 'B'),
    ];
  } finally {
    client.close();
    await counter.close();
    await plain.close();
  }
}

async function benchMemory({
  kubeconfig,
  full,
  empty,
  seededAt,
  rounds,
}: ReapingOptions): Promise<BenchResult> {
  const growths: number[] = [];
  for (let process = 0; process < Math.min(3, rounds); process += 1) {
    const module = new URL('./scanning-reaper.ts', import.meta.url);
    const reaper = await startWorker(module, [kubeconfig, full, empty], SMALL_HEAP);
    growths.push((await reaper.ask(passTimes(seededAt).whole.getTime())) as number);
    await reaper.stop();
  }
  const name = 'P4 growth of a process with a heap of 64 MB by a pass over everything / allowed';
  return limited(name, growths, MAX_GROWTH_MB, 'MB', 'growth');
}

async function benchDeletes(
  fixture: PreviewFixture,
  records: Records,
  { full, seededAt, rounds, expired: count }: ReapingOptions,
): Promise<BenchResult[]> {
  const { plane, previewSettings } = fixture.planeOf(full);
  const now = passTimes(seededAt).ordinary;
  const reap = (by: PreviewPlane) =>
    reapPreviews({ plane: by, records, previewSettings, clock: { now: () => now } });
  const expired = () => seedPreviews(plane, count, now, { due: true });
  const services = collection(SERVICES, full).path;
  const routes = collection(HTTP_ROUTES, full).path;
  const arms = {
    // The candidates are given, and no other sweep runs: only its deletions count.
    'reaper’s deletions': async () => {
      const found = await expired();
      return timed(() => reap({ ...plane, list: () => each(found), sweep: async () => 0 }))();
    },
    'the same bare, 8 at once': async () => {
      const found = await expired();
      const oneOfFew = gate(8);
      const remove = async (path: string, preconditions: object) => {
        const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
        await fixture.bare.call('DELETE', path, JSON.stringify(body));
      };
      const owners = new Map(
        await Promise.all(
          found.map(async ({ name }) => [name, await ownerOf(fixture, `${services}/${name}`)] as const),
        ),
      );
      return timed(() =>
        Promise.all(
          found.map(({ name, uid, version }) =>
            oneOfFew(async () => {
              await remove(`${routes}/${name}`, { uid, resourceVersion: version });
              await remove(`${services}/${name}`, owners.get(name) ?? {});
            }),
          ),
        ),
      )();
    },
    'pass that ends them': async () => {
      await expired();
      return timed(() => reap(plane))();
    },
    'lists of both kinds': timed(async () => {
      await fixture.bare.call('GET', routes);
      await fixture.bare.call('GET', services);
    }),
  };
  const figures = await interleave(arms, rounds, 1);
  return [
    compare(
      `P5 ${count} previews ended by the reaper / bare`,
      figures,
      ['reaper’s deletions', 'the same bare, 8 at once'],
      'ms',
      atMost(1.15),
    ),
    compare(
      `P5 a pass that ends ${count} / one list of both kinds`,
      figures,
      ['pass that ends them', 'lists of both kinds'],
      'ms',
      atMost(2.5),
    ),
  ];
}

async function* each(previews: readonly Preview[]): AsyncGenerator<Preview, void, undefined> {
  yield* previews;
}

async function ownerOf(fixture: PreviewFixture, path: string): Promise<object> {
  const { metadata } = JSON.parse((await fixture.bare.call('GET', path)).toString()) as {
    metadata: { uid: string; resourceVersion: string };
  };
  return { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
}
