import { atLeast, type BenchResult, compare, interleave, startWorker, type Worker } from './measure.ts';
import type { LoadTask } from './preview/load.ts';

interface Checked {
  readonly port: number;
  readonly token: string;
}

/**
 * Figures of goal P11: hello world through the whole chain, without and with an agent token and
 * zod, against plain fastify. Plain fastify does less than the host: no check of the head, metrics,
 * request id and safe headers, and no token. So the last figure compares with a fastify that checks
 * the same token and query.
 */
export async function benchHost({
  warmUp = 1,
  rounds = 9,
  seconds = 2,
}: {
  readonly warmUp?: number;
  readonly rounds?: number;
  readonly seconds?: number;
} = {}): Promise<BenchResult[]> {
  const workers: Worker<unknown>[] = [];
  const start = async <Ready>(file: string, args: string[] = []): Promise<Ready> => {
    const worker = await startWorker<Ready>(new URL(file, import.meta.url), args);
    workers.push(worker);
    return worker.ready;
  };
  try {
    const fastify = await start<{ port: number }>('plain-fastify.ts');
    const fastifyChecked = await start<Checked>('plain-fastify.ts', ['checked']);
    const open = await start<{ port: number }>('bare-function-host.ts');
    const checked = await start<Checked>('bare-function-host.ts', ['checked']);
    await start('preview/load.ts');
    const load = workers.at(-1) as Worker<unknown>;
    const ask = (task: Omit<LoadTask, 'kind' | 'amount' | 'host'>) => async () =>
      (await load.ask({ kind: 'json', amount: seconds, host: 'localhost', ...task })) as number;
    const arms = {
      fastify: ask({ port: fastify.port }),
      'fastify, agent token and zod': ask({ ...fastifyChecked, path: '/?name=bench&times=3' }),
      host: ask({ port: open.port }),
      'host, agent token and zod': ask({ ...checked, path: '/?name=bench&times=3' }),
    };
    const figures = await interleave(arms, rounds, warmUp);
    return [
      compare('function host / fastify, hello world', figures, ['host', 'fastify'], 'req/s', atLeast(0.85)),
      compare(
        'function host / fastify, with agent token and zod',
        figures,
        ['host, agent token and zod', 'fastify'],
        'req/s',
        atLeast(0.7),
      ),
      compare(
        'function host / fastify, both with agent token and zod',
        figures,
        ['host, agent token and zod', 'fastify, agent token and zod'],
        'req/s',
      ),
    ];
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}
