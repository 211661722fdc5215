import { POOL_OWNER } from '#core/sandboxes/sandbox-owner.ts';
import { createSandbox } from '#core/sandboxes/create-sandbox.ts';
import { settled } from '#test/support/warm-pools.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { atLeast, atMost, type BenchResult, compare, interleave, timed } from '../measure.ts';
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
  const { pool, records, clock, installationId } = services;
  try {
    await recovered;
    await settled(pool, slots);
    const taken = (take: () => Promise<string | undefined>) => async () => {
      await settled(pool, slots);
      let id: string | undefined;
      const took = await timed(async () => (id = await take()))();
      if (id === undefined) throw new Error('the pool is empty');
      await removeSandbox(porthole, id);
      await pool.refresh();
      return took;
    };
    const arms = {
      'warm create': taken(async () => (await createSandbox(services, { owner: OWNER })).id),
      'bare hand-over': taken(
        async () => (await records.capacity.takeWarm(installationId, POOL_OWNER, OWNER, clock.now()))?.id,
      ),
    };
    const taking = await interleave(arms, rounds, Math.min(3, rounds));

    // Another size than the pool has, so that none comes from there.
    const resources = { memoryMb: services.sandboxes.defaultSize.memoryMb + 1 };
    const filling = {
      'filled up': async () => {
        await pool.drain();
        return timed(() => pool.prime())();
      },
      'cold starts': async () => {
        await pool.drain();
        const waiting = Array.from({ length: slots }).values();
        const made: string[] = [];
        const worker = async () => {
          for (const _ of waiting) made.push((await createSandbox(services, { owner: OWNER, resources })).id);
        };
        const took = await timed(() => Promise.all(Array.from({ length: BATCH }, worker)))();
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
        atMost(1.5),
      ),
      compare(
        `local: a pool of ${slots} filled up / ${slots} cold starts, ${BATCH} at once`,
        fills,
        ['filled up', 'cold starts'],
        'ms',
        atMost(1.2),
      ),
      {
        name: `local: ${burst} at once on a pool of ${slots}, answered with a sandbox`,
        ratio: { median: answered, low: answered, high: answered },
        pairs: burst,
        goal: atLeast(1),
        met: answered === 1,
        absolute: { 'all of them': { median: took, unit: 'ms' } },
      },
    ];
  } finally {
    await porthole.end();
  }
}
