/**
 * `npm run bench [-- NAME …|all] [--quick]`: ratios measured side by side in one run, with the
 * absolute medians. Compare ratios: the absolute figures depend on this machine at this moment.
 * `--quick` runs every arm once or twice on little data, to check that it works.
 */
import { availableParallelism } from 'node:os';
import type { BenchResult } from './measure.ts';

/** Enough to check that every arm runs; the figures are meaningless. */
const QUICK_LOAD = { warmUp: 0, rounds: 1, seconds: 0.2, roundTrips: 20 };

export const BENCHES: Record<string, (quick: boolean) => Promise<BenchResult[]>> = {
  preview: async (quick) =>
    (await import('./preview.ts')).benchPreview({
      gateway: new URL('./preview/sandboxed.ts', import.meta.url),
      ...(quick ? QUICK_LOAD : {}),
    }),
  previews: async (quick) =>
    (await import('./previews.ts')).benchPreviews(
      quick ? { previews: 40, pairs: 3, rounds: 1, share: 0.02, expired: 10 } : {},
    ),
  sandboxes: async (quick) =>
    (await import('./sandboxes.ts')).benchSandboxes(
      quick ? { rounds: 1, clusterRounds: 1, slots: 5, burst: 7 } : {},
    ),
  bridge: async (quick) =>
    (await import('./bridge.ts')).benchBridge(
      quick ? { warmUp: 1, pairs: 5, rounds: 1, mebibytes: 8, files: 100 } : {},
    ),
  fairness: async (quick) =>
    (await import('./fairness.ts')).benchFairness(quick ? { commands: 5, listed: 1_000, files: 5_000 } : {}),
  network: async (quick) =>
    (await import('./network.ts')).benchNetwork(quick ? { rounds: 1, connections: 20, seconds: 1 } : {}),
  console: async (quick) =>
    (await import('./console.ts')).benchConsole(
      quick ? { rounds: 1, runs: 60, events: 500, frames: 30 } : {},
    ),
  looks: async (quick) =>
    (await import('./looks.ts')).benchLooks(quick ? { warmUp: 0, rounds: 1, looks: 2 } : {}),
  proxy: async (quick) => (await import('./preview.ts')).benchPreview(quick ? QUICK_LOAD : {}),
  host: async (quick) => (await import('./host.ts')).benchHost(quick ? QUICK_LOAD : {}),
  start: async (quick) => (await import('./start.ts')).benchStart(quick ? { rounds: 1 } : {}),
  tracing: async (quick) =>
    (await import('./tracing.ts')).benchTracing(quick ? { warmUp: 0, rounds: 1, seconds: 0.2 } : {}),
  usage: async (quick) => (await import('./usage.ts')).benchUsage(quick ? { minutes: 0.1 } : {}),
  functions: async (quick) => (await import('./functions.ts')).benchFunctions(quick ? { rounds: 1 } : {}),
};

if (import.meta.main) await runWanted(process.argv.slice(2));

async function runWanted(args: readonly string[]): Promise<void> {
  const quick = args.includes('--quick');
  const named = args.filter((arg) => arg !== '--quick');
  const wanted = named.includes('all') ? Object.keys(BENCHES) : named;
  const unknown = wanted.filter((name) => !(name in BENCHES));
  if (unknown.length > 0) {
    process.stderr.write(
      `There is no bench ${unknown.join(', ')}. Choose from: all, ${Object.keys(BENCHES).join(', ')}.\n`,
    );
    process.exit(2);
  }
  process.stdout.write(
    `Node ${process.version}, ${availableParallelism()} cores. Ratio: median [95 % interval] of pairs measured in turn.\n\n`,
  );
  for (const name of wanted.length > 0 ? wanted : ['preview', 'host', 'start']) {
    process.stdout.write(`${name}\n`);
    for (const result of await (BENCHES[name] as (quick: boolean) => Promise<BenchResult[]>)(quick))
      process.stdout.write(`  ${line(result)}\n`);
  }
}

function line({ name, ratio, pairs, goal, met, absolute }: BenchResult): string {
  const figure = `${ratio.median.toFixed(2)} [${ratio.low.toFixed(2)}, ${ratio.high.toFixed(2)}] of ${pairs}`;
  const arms = Object.entries(absolute)
    .map(([arm, { median, unit }]) => `${arm} ${shown(median)} ${unit}`)
    .join(', ');
  const decision =
    goal === undefined
      ? ''
      : `  ${met ? 'met' : 'NOT MET'} (${goal.at === 'least' ? '≥' : '≤'} ${goal.value})`;
  return `${name.padEnd(72)} ${figure.padEnd(30)}${decision}\n      ${arms}`;
}

function shown(value: number): string {
  return value >= 1e6 ? `${(value / 1e6).toFixed(0)}M` : value >= 1_000 ? value.toFixed(0) : value.toFixed(1);
}
