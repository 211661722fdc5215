import { POOL_OWNER } from '#core/sandboxes/sandbox-owner.ts';
import { createSandbox } from '#core/sandboxes/create-sandbox.ts';
import { settled } from '#test/support/warm-pools.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { type BenchResult, compare, interleave } from '../measure.ts';
import { makeSandbox, removeSandbox } from './start-times.ts';

export interface PoolFigures {
  readonly slots: number;
  /** Simultaneous requests for one. */
  readonly burst: number;
  readonly rounds: number;
}

/** Number that the pool creates at once. */
const BATCH = 5;
const OWNER = { user: 'local', org: 'local' };

/**
 * A pool of local sandboxes: the cost of taking one against the single write that assigns it, a
 * burst on it, and its fill rate.
 */
export async function benchPool({ slots, burst, rounds }: PoolFigures): Promise<BenchResult[]> {
  const porthole = await startTestHost({
    LOG_LEVEL: 'error',
    WARM_POOL_TARGET: String(slots),
    WARM_POOL_SCALE_BATCH_SIZE: String(BATCH),
  });
  const { services, recovered } = porthole.host;
  const { pool, records, clock, place } = services;
  try {
    await recovered;
    await settled(pool, slots);
    const timed = (take: () => Promise<string | undefined>) => async () => {
      await settled(pool, slots);
      const began = performance.now();
      const id = await take();
      const took = performance.now() - began;
      if (id === undefined) throw new Error('the pool is empty');
      await removeSandbox(porthole, id);
      await pool.refresh();
      return took;
    };
    const arms = {
      'warm create': timed(async () => (await createSandbox(services, { owner: OWNER })).id),
      'bare hand-over': timed(
        async () => (await records.capacity.takeWarm(place, POOL_OWNER, OWNER, clock.now()))?.id,
      ),
    };
    await interleave(arms, Math.min(3, rounds));
    const taking = await interleave(arms, rounds);

    // Another size than the pool has, so that none comes from there.
    const resources = { memoryMb: services.provider.defaultSize.memoryMb + 1 };
    const filling = {
      'filled up': async () => {
        await pool.drain();
        const began = performance.now();
        await pool.prime();
        return performance.now() - began;
      },
      'cold starts': async () => {
        await pool.drain();
        const waiting = Array.from({ length: slots }).values();
        const made: string[] = [];
        const began = performance.now();
        const worker = async () => {
          for (const _ of waiting) made.push((await createSandbox(services, { owner: OWNER, resources })).id);
        };
        await Promise.all(Array.from({ length: BATCH }, worker));
        const took = performance.now() - began;
        for (const id of made) await removeSandbox(porthole, id);
        return took;
      },
    };
    const fills = await interleave(filling, Math.min(5, rounds));

    await pool.prime();
    await settled(pool, slots);
    const began = performance.now();
    const made = await Promise.allSettled(Array.from({ length: burst }, () => makeSandbox(porthole)));
    const took = performance.now() - began;
    const answered = made.filter(({ status }) => status === 'fulfilled').length / burst;

    return [
      compare(
        'local: warm create / the one write that hands a sandbox over',
        taking,
        ['warm create', 'bare hand-over'],
        'ms',
        { at: 'most', value: 1.5 },
      ),
      compare(
        `local: a pool of ${slots} filled up / ${slots} cold starts, ${BATCH} at once`,
        fills,
        ['filled up', 'cold starts'],
        'ms',
        { at: 'most', value: 1.2 },
      ),
      {
        name: `local: ${burst} at once on a pool of ${slots}, answered with a sandbox`,
        ratio: { median: answered, low: answered, high: answered },
        pairs: burst,
        goal: { at: 'least', value: 1 },
        met: answered === 1,
        absolute: { 'all of them': { median: took, unit: 'ms' } },
      },
    ];
  } finally {
    await porthole.end();
  }
}
