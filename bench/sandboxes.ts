import { atMost, type BenchResult, compare, estimate } from './measure.ts';
import { benchPool } from './sandboxes/pool-figures.ts';
import { benchPrewarmed } from './sandboxes/prewarmed-starts.ts';
import { BENCHED_PROVIDERS } from './sandboxes/provider-fixtures.ts';
import { type StartTimes, timeStarts } from './sandboxes/start-times.ts';

export interface SandboxesBenchOptions {
  /** Pairs of a cold and a warm start on one machine. */
  readonly rounds?: number;
  /** The same in a cluster. */
  readonly clusterRounds?: number;
  readonly slots?: number;
  /** Simultaneous requests for a sandbox of that pool. */
  readonly burst?: number;
}

/** Kept ready while starts are measured: one is taken at a time. */
const READY = 2;

/**
 * From `POST /v1/sandbox` to the end of the first command, cold and from a pool, on each provider
 * available on this machine: as ratios, preceded by a table. The clusters' figures are those of the
 * test cluster, with a stand-in for agent-sandbox's controller.
 */
export async function benchSandboxes({
  rounds = 25,
  clusterRounds = 9,
  slots = 20,
  burst = 100,
}: SandboxesBenchOptions = {}): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  say(row('ms', 'cold: created', '… first command', 'warm: created', '… first command'));
  for (const provider of BENCHED_PROVIDERS) {
    const { name, missing } = provider;
    if (missing !== undefined) {
      say(row(name, `left out: ${missing}`));
      continue;
    }
    const isOnOneMachine = name === 'local' || name === 'docker';
    const fixture = await provider.open(READY);
    let times: StartTimes;
    try {
      times = await timeStarts(fixture, READY, isOnOneMachine ? rounds : clusterRounds);
      if (name === 'local') results.push(await benchPrewarmed(fixture.cold, rounds));
    } finally {
      await fixture.end();
    }
    const { created, ran } = times;
    say(row(name, ...[created.cold, ran.cold, created.warm, ran.warm].map(shown)));
    if (ran.warm.length === 0) continue;
    results.push(
      compare(`${name}: create, warm / cold`, created, ['warm', 'cold'], 'ms', atMost(0.1)),
      compare(`${name}: create to first command, warm / cold`, ran, ['warm', 'cold'], 'ms'),
    );
    if (name === 'local') {
      results.push(...(await benchPool({ slots, burst, rounds })));
    }
  }
  return results;
}

function row(name: string, ...cells: readonly string[]): string {
  return [name.padEnd(28), ...cells.map((cell) => cell.padStart(22))].join(' ').trimEnd();
}

function shown(values: readonly number[]): string {
  if (values.length === 0) return '–';
  const { median, low, high } = estimate(values);
  return `${median.toFixed(0)} [${low.toFixed(0)}, ${high.toFixed(0)}]`;
}

function say(line: string): void {
  process.stdout.write(`  ${line}\n`);
}
