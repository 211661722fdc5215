/**
 * `npm run bench [-- preview|previews|sandboxes|bridge|fairness|host|start …] [--quick]`: ratios measured side by side in one run, with the absolute medians beside them. Ratios are what
 * counts; the absolute figures belong to this machine at this moment.
 */
import { availableParallelism } from 'node:os';
import type { BenchResult } from './measure.ts';

const BENCHES: Record<string, (quick: boolean) => Promise<BenchResult[]>> = {
  preview: async (quick) => {
    const { benchPreview } = await import('./preview.ts');
    return benchPreview({
      gateway: new URL('./preview/sandboxed.ts', import.meta.url),
      ...(quick ? { rounds: 3, seconds: 1 } : {}),
    });
  },
  previews: async (quick) => {
    const { benchPreviews } = await import('./previews.ts');
    return benchPreviews(quick ? { previews: 1_000, pairs: 100, rounds: 3, share: 0.3 } : {});
  },
  sandboxes: async (quick) => {
    const { benchSandboxes } = await import('./sandboxes.ts');
    return benchSandboxes(quick ? { rounds: 5, clusterRounds: 3, burst: 40 } : {});
  },
  bridge: async (quick) => {
    const { benchBridge } = await import('./bridge.ts');
    return benchBridge(quick ? { pairs: 60, rounds: 5 } : {});
  },
  fairness: async (quick) => {
    const { benchFairness } = await import('./fairness.ts');
    return benchFairness(quick ? { commands: 40 } : {});
  },
  proxy: async (quick) => {
    const { benchPreview } = await import('./preview.ts');
    return benchPreview(quick ? { rounds: 3, seconds: 1 } : {});
  },
  host: async (quick) => {
    const { benchHost } = await import('./host.ts');
    return benchHost(quick ? { rounds: 3, seconds: 1 } : {});
  },
  start: async (quick) => {
    const { benchStart } = await import('./start.ts');
    return benchStart(quick ? { rounds: 3 } : {});
  },
};

const args = process.argv.slice(2);
const quick = args.includes('--quick');
const wanted = args.filter((arg) => arg !== '--quick');
const unknown = wanted.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  process.stderr.write(
    `There is no bench ${unknown.join(', ')}. There are: ${Object.keys(BENCHES).join(', ')}.\n`,
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

function line({ name, ratio, pairs, goal, met, absolute }: BenchResult): string {
  const figure = `${ratio.median.toFixed(2)} [${ratio.low.toFixed(2)}, ${ratio.high.toFixed(2)}] of ${pairs}`;
  const arms = Object.entries(absolute)
    .map(([arm, { median, unit }]) => `${arm} ${shown(median)} ${unit}`)
    .join(', ');
  const verdict =
    goal === undefined
      ? ''
      : `  ${met ? 'met' : 'NOT MET'} (${goal.at === 'least' ? '≥' : '≤'} ${goal.value})`;
  return `${name.padEnd(72)} ${figure.padEnd(30)}${verdict}\n      ${arms}`;
}

function shown(value: number): string {
  return value >= 1e6 ? `${(value / 1e6).toFixed(0)}M` : value >= 1_000 ? value.toFixed(0) : value.toFixed(1);
}
