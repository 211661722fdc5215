import type { TestHost } from '#test/support/in-process-host.ts';
import { Porthole } from '../../client/index.ts';
import type { Sandbox } from '../../client/resources/sandbox.ts';
import { type BenchResult, compare, interleave } from '../measure.ts';

/**
 * From a client's need for a sandbox to the end of its first command: a prewarmed one against one
 * created on demand.
 */
export async function benchPrewarmed({ host }: TestHost, rounds: number): Promise<BenchResult> {
  const { sandboxes } = new Porthole({ url: `http://127.0.0.1:${host.port}` });
  const timed = async (need: () => Promise<Sandbox>) => {
    const began = performance.now();
    const sandbox = await need();
    await sandbox.exec(['true']).text();
    const took = performance.now() - began;
    await sandbox.delete();
    return took;
  };
  const arms = {
    'pre-warmed': async () => {
      const warm = sandboxes.prewarm();
      // As long as a user takes to type.
      const sandbox = await warm.take();
      return timed(() => Promise.resolve(sandbox));
    },
    cold: () => timed(() => sandboxes.create()),
  };
  const figures = await interleave(arms, rounds, 1);
  const name = 'local: first command, pre-warmed by the client / cold';
  return compare(name, figures, ['pre-warmed', 'cold'], 'ms');
}
