import { atMost, type BenchResult, compare, interleave } from '../measure.ts';
import type { PreviewFixture } from './preview-fixture.ts';
import { previewFunctions } from './preview-functions.ts';

const WARM_UP = 20;
const GOAL = atMost(1.15);

/** Milliseconds of starts and stops in one namespace, in order. */
export interface Lives {
  readonly starts: readonly number[];
  readonly stops: readonly number[];
}

/** Starts and stops previews in namespaces in turn. */
export async function timeLives(
  fixture: PreviewFixture,
  namespaces: readonly string[],
  rounds: number,
): Promise<readonly Lives[]> {
  const functions = await Promise.all(namespaces.map((name) => previewFunctions(fixture.planeOf(name))));
  const stops = namespaces.map((): number[] => []);
  const arms = Object.fromEntries(
    namespaces.map((name, at) => [
      name,
      async () => {
        const fn = functions[at];
        if (fn === undefined) return Number.NaN;
        const began = performance.now();
        const token = await fn.start();
        const started = performance.now();
        await fn.stop(token);
        stops[at]?.push(performance.now() - started);
        return started - began;
      },
    ]),
  );
  try {
    await interleave(arms, Math.min(WARM_UP, rounds));
    for (const each of stops) each.length = 0;
    const starts = await interleave(arms, rounds);
    return namespaces.map((name, at) => ({ starts: starts[name] ?? [], stops: stops[at] ?? [] }));
  } finally {
    await Promise.all(functions.map((fn) => fn.close()));
  }
}

/**
 * P2: starts and stops among many previews, against those in an empty namespace, and against those
 * before any previews existed.
 */
export async function benchScale(
  fixture: PreviewFixture,
  { full, empty, count, before }: { full: string; empty: string; count: number; before: Lives | undefined },
): Promise<BenchResult[]> {
  const rounds = before?.starts.length ?? 0;
  const [among, alone] = await timeLives(fixture, [full, empty], rounds);
  const many = `${count.toLocaleString('en')} previews`;
  return (['starts', 'stops'] as const).flatMap((step) => {
    const figures = { among: among?.[step] ?? [], alone: alone?.[step] ?? [], before: before?.[step] ?? [] };
    return [
      compare(`P2 ${step} among ${many} / in a namespace without`, figures, ['among', 'alone'], 'ms', GOAL),
      compare(
        `P2 ${step} among ${many} / before there were any, at another time`,
        figures,
        ['among', 'before'],
        'ms',
        GOAL,
      ),
    ];
  });
}
