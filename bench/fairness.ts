import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { residentMemory, resetPeakMemory, startHostProcess } from '#test/support/host-process.ts';
import { ask, atMost, type BenchResult, compare, estimate, interleave, single, timed } from './measure.ts';

export interface FairnessBenchOptions {
  /** Number of commands, with and without load. */
  readonly commands?: number;
  readonly listed?: number;
  /** Number of files in the zip. */
  readonly files?: number;
}

const KEYS = { ann: 'bench-key-of-ann-0', bob: 'bench-key-of-bob-0' };
type Name = keyof typeof KEYS;
const LISTINGS = 30;
const STREAMS = 100;
/**
 * The goals of the issue: another user's `exec`, in milliseconds, and the memory of a zip, in MiB.
 */
const MAX_EXEC_MS = 250;
const MAX_ZIP_MIB = 32;

/**
 * Effects of one user on another: `exec` of bob while ann lists a large folder 30 times in
 * parallel, makes a zip of many files, or opens event streams; and the host's memory for the zip.
 */
export async function benchFairness({
  commands = 200,
  listed = 10_000,
  files = 200_000,
}: FairnessBenchOptions = {}): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'porthole-bench-'));
  const people = Object.entries(KEYS).map(([user, key]) => [key, { user, org: 'bench' }]);
  const host = await startHostProcess({
    dataDir: join(folder, 'data'),
    environment: { LOG_LEVEL: 'error', PORTHOLE_API_KEYS: JSON.stringify(Object.fromEntries(people)) },
  });
  const agents = { ann: new Agent({ keepAlive: true }), bob: new Agent({ keepAlive: true, maxSockets: 1 }) };
  const call = (as: Name, route: string, body?: unknown) =>
    ask(route, {
      port: host.port,
      agent: agents[as],
      headers: { authorization: `Bearer ${KEYS[as]}` },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  const exec = async (as: Name, id: string, argv: readonly string[]) => {
    const end = await call(as, `POST /v1/sandbox/${id}/exec`, { argv });
    if (!end.includes('{"exit_code":0}')) throw new Error(`exec: ${end}`);
  };
  const sandbox = async (as: Name) =>
    (JSON.parse(await call(as, 'POST /v1/sandbox', {})) as { id: string }).id;
  try {
    const [anns, bobs] = [await sandbox('ann'), await sandbox('bob')];
    const touch = (name: string, count: number) =>
      exec('ann', anns, [
        'sh',
        '-c',
        `mkdir ${name} && cd ${name} && seq -f 'a-file-of-usual-length-%.0f.txt' ${count} | xargs touch`,
      ]);
    await touch('listed', listed);
    const arms = { exec: timed(() => exec('bob', bobs, ['true'])) };
    const measure = async () => (await interleave(arms, commands)).exec;
    await measure();
    await touch('zipped', files);
    const listing = `/v1/sandbox/${anns}/files?path=listed`;
    const zip = `/v1/sandbox/${anns}/archive?path=zipped&format=zip`;
    const loads: readonly (readonly [string, Load])[] = [
      [`${LISTINGS} listings`, { path: listing, parallel: LISTINGS }],
      [`a zip of ${files} files`, { path: zip, parallel: 1 }],
      [
        `${STREAMS} streams that open and close`,
        { path: `/v1/sandbox/${anns}/events`, parallel: STREAMS, endsAfterFirst: true },
      ],
    ];
    const results: BenchResult[] = [];
    for (const [name, load] of loads) {
      const unloaded = await measure();
      const running = await startLoad({ ...load, port: host.port, token: KEYS.ann });
      const loaded = await measure();
      results.push(...effect(name, loaded, unloaded, await running.end()));
    }
    await resetPeakMemory(host);
    const before = await residentMemory(host);
    await call('ann', `GET ${zip}`);
    const after = await residentMemory(host);

    return [
      ...results,
      single(
        `zip of ${files} empty files: memory of the host`,
        after.peak - before.now,
        'MiB',
        MAX_ZIP_MIB,
        {},
      ),
    ];
  } finally {
    for (const agent of Object.values(agents)) agent.destroy();
    await host.end();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A request that some connections repeat. */
interface Load {
  readonly path: string;
  readonly parallel: number;
  /** The client disconnects after the first bytes of the response. */
  readonly endsAfterFirst?: boolean;
}

interface LoadOrders extends Load {
  readonly port: number;
  readonly token: string;
}

/** What one load was. */
interface Generated {
  readonly answered: number;
  /** CPU time of the generator per second, in milliseconds: it competes with the host for cores. */
  readonly cpu: number;
}

/** The load comes from another process: here it would itself delay the measured requests. */
async function startLoad(orders: LoadOrders): Promise<{ end(): Promise<Generated> }> {
  const child = fork(import.meta.filename, { execArgv: ['--disable-warning=ExperimentalWarning'] });
  child.send(orders);
  await once(child, 'message');
  return {
    async end() {
      child.send('end');
      const [generated] = (await once(child, 'message')) as [Generated];
      child.disconnect();
      return generated;
    },
  };
}

/** Reports once all connections have begun, and at the end what it did. */
async function generateLoad({
  port,
  token,
  path,
  parallel,
  endsAfterFirst = false,
}: LoadOrders): Promise<Generated> {
  const agent = new Agent({ keepAlive: !endsAfterFirst });
  const progress = { isOver: false, begun: 0, ended: 0 };
  process.once('message', () => (progress.isOver = true));
  const repeat = async (): Promise<void> => {
    progress.begun += 1;
    if (progress.begun === parallel) process.send?.('begun');
    while (!progress.isOver) {
      const outgoing = request({
        host: '127.0.0.1',
        port,
        path,
        agent,
        headers: { authorization: `Bearer ${token}` },
      });
      outgoing.end();
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      if (response.statusCode !== 200) throw new Error(`GET ${path}: ${response.statusCode}`);
      for await (const _ of response) if (endsAfterFirst) break;
      progress.ended += 1;
    }
  };
  const [began, before] = [performance.now(), process.cpuUsage()];
  await Promise.all(Array.from({ length: parallel }, repeat));
  const { user, system } = process.cpuUsage(before);
  return { answered: progress.ended, cpu: (user + system) / (performance.now() - began) };
}

function effect(
  load: string,
  loaded: readonly number[],
  unloaded: readonly number[],
  { answered, cpu }: Generated,
): BenchResult[] {
  const name = `exec of another user under ${load}`;
  const p50 = compare(`${name} / unloaded`, { loaded, unloaded }, ['loaded', 'unloaded'], 'ms');
  const ratio = estimate(loaded).median / estimate(unloaded).median;
  return [
    { ...p50, ratio: { ...p50.ratio, median: ratio }, goal: atMost(2), met: ratio <= 2 },
    single(`${name}: longest`, Math.max(...loaded), 'ms', MAX_EXEC_MS, {
      'longest unloaded': Math.max(...unloaded),
      'requests answered': answered,
      'CPU of the generator, ms/s': cpu,
    }),
  ];
}

if (process.argv[1] === import.meta.filename && process.send !== undefined) {
  const [orders] = (await once(process, 'message')) as [LoadOrders];
  process.send(await generateLoad(orders));
}
