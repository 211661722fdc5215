import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readHierarchies } from '#adapters/local/sandbox-cgroup.ts';
import { CgroupCounters, readMemory, readSharedMemory } from '#test/support/cgroup-counters.ts';
import type { TestHost } from '#test/support/in-process-host.ts';
import { type BenchResult, single } from './measure.ts';
import { BENCHED_PROVIDERS, type BenchedProvider } from './sandboxes/provider-fixtures.ts';
import { makeSandbox, removeSandbox } from './sandboxes/start-times.ts';

export interface UsageBenchOptions {
  readonly minutes?: number;
  /** Names of providers. */
  readonly providers?: readonly string[];
}

const SANDBOXES = 2;
/** Seconds between two stops of a sandbox. */
const LIFE_S = [60, 240] as const;
const SAMPLE_MS = 1_000;
/** The goal: the difference from the cgroup, in percent. */
const MAX_PERCENT = 2;

/** Busy, asleep, many short processes, many files, much memory, and a process without a parent. */
const LOAD = `
hold() { exec node -e 'const kept = Buffer.alloc(process.argv[1] * 2 ** 20, 1); setTimeout(() => kept, process.argv[2] * 1000)' $1 $2; }
busy() { local until=$((SECONDS + $1)); while [ $SECONDS -lt $until ]; do :; done; }
hold 150 86400 &
until=$((SECONDS + $1))
while [ $SECONDS -lt $until ]; do
  case $((RANDOM % 6)) in
  0) busy 3 ;;
  1) sleep 10 ;;
  2) for n in {1..200}; do sh -c :; done ;;
  3) node -e '
    const fs = require("fs");
    for (let n = 0; n < 2000; n += 1) {
      fs.mkdirSync("modules/" + n % 100, { recursive: true });
      fs.writeFileSync("modules/" + n % 100 + "/" + n, "x".repeat(n * 7));
    }
    fs.rmSync("modules", { recursive: true });' ;;
  4) left=$((until - SECONDS)); (hold 200 $((left < 30 ? left : 30))) ;;
  5) ( (busy 2) & ) ;;
  esac
  sleep $((2 + RANDOM % 4))
done
kill %1`;

/**
 * The usage of sandboxes that do all that costs CPU time and memory, and are stopped and resumed,
 * beside what their cgroups count on this machine. For an hour, or `PORTHOLE_BENCH_MINUTES`, side
 * by side for each of `PORTHOLE_BENCH_PROVIDERS`.
 */
export async function benchUsage({
  minutes = Number(process.env['PORTHOLE_BENCH_MINUTES'] ?? 60),
  providers = process.env['PORTHOLE_BENCH_PROVIDERS']?.split(',') ?? ['local'],
}: UsageBenchOptions = {}): Promise<BenchResult[]> {
  const benched = BENCHED_PROVIDERS.filter(({ name }) => providers.includes(name));
  return (await Promise.all(benched.map((provider) => compareUsage(provider, minutes)))).flat();
}

async function compareUsage(provider: BenchedProvider, minutes: number): Promise<BenchResult[]> {
  const { name, missing } = provider;
  if (missing !== undefined) throw new Error(`${name}: ${missing}`);
  const fixture = await provider.open(0);
  const host = fixture.cold;
  try {
    const ids = await Promise.all(Array.from({ length: SANDBOXES }, () => makeSandbox(host)));
    const until = performance.now() + minutes * 60_000;
    const counters = await Promise.all(ids.map((id) => useSandbox(provider, host, id, until)));
    const answer = await host.call('GET', '/v1/usage?by=sandbox');
    const { usage } = answer.json<{ usage: readonly ({ sandbox: string } & CgroupCounters['counted'])[] }>();
    await Promise.all(ids.map((id) => removeSandbox(host, id)));
    return (['vcpu_s', 'memory_gib_s'] as const).map((field) => {
      const counted = sum(usage.filter(({ sandbox }) => ids.includes(sandbox)).map((row) => row[field]));
      const cgroup = sum(counters.map((each) => each.counted[field]));
      const difference = 100 * Math.abs(counted / cgroup - 1);
      const title = `${name}: ${field} in ${minutes} min, difference from the cgroup`;
      return single(title, difference, '%', MAX_PERCENT, { counted, cgroup });
    });
  } finally {
    await fixture.end();
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Its usage until then, with some stops. */
async function useSandbox(
  { name }: BenchedProvider,
  host: TestHost,
  id: string,
  until: number,
): Promise<CgroupCounters> {
  const mark = `porthole-usage-${id}`;
  const counters = new CgroupCounters(
    () => cgroupNamed(id) ?? cgroupOf(mark),
    name === 'gvisor' ? readSharedMemory : readMemory,
  );
  const post = async (path: string, body: object = {}): Promise<void> => {
    const { status, text } = await host.call('POST', `/v1/sandbox/${id}/${path}`, { body });
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
  };
  const marked = { argv: ['sh', '-c', 'sleep 86400', mark] };
  while (performance.now() < until) {
    await post('processes', marked);
    while (!counters.read()) await pause(SAMPLE_MS);
    const [least, most] = LIFE_S;
    const seconds = Math.min(least + Math.random() * (most - least), (until - performance.now()) / 1_000);
    const argv = ['bash', '-c', LOAD, 'bash', String(Math.ceil(seconds))];
    const reading = setInterval(() => counters.read(), SAMPLE_MS);
    await post('exec', { argv }).finally(() => clearInterval(reading));
    counters.read();
    await post('stop');
    if (performance.now() < until) await post('resume');
  }
  return counters;
}

/** The cgroups that the local provider has made; gVisor shows no process of its sandboxes. */
function cgroupNamed(id: string): readonly string[] | undefined {
  const [mountinfo = '', own = ''] = ['mountinfo', 'cgroup'].map((name) =>
    readFileSync(`/proc/self/${name}`, 'utf8'),
  );
  const found = readHierarchies(mountinfo, own).flatMap(({ folder }) =>
    readdirSync(folder)
      .filter((name) => name.startsWith(`porthole-${id}-`))
      .map((name) => join(folder, name)),
  );
  return found.length === 0 ? undefined : found;
}

/** The cgroups of a process that has the mark. */
function cgroupOf(mark: string): readonly string[] {
  const mountinfo = readFileSync('/proc/self/mountinfo', 'utf8');
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark)) continue;
      const cgroup = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
      // A process that is just ending is in the root.
      if (!/^\d+:.*cpu.*:\/.+$|^0::\/.+$/m.test(cgroup)) continue;
      return readHierarchies(mountinfo, cgroup).map(({ folder }) => folder);
    } catch {
      // The process has ended.
    }
  }
  return [];
}
