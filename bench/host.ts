import { type BenchResult, compare, interleave, startWorker, type Worker } from './measure.ts';
import type { LoadTask } from './preview/load.ts';

/**
 * Figures of goal P11: hello world through the whole chain, without and with an agent token and
 * zod, against plain fastify.
 */
export async function benchHost({
  rounds = 9,
  seconds = 2,
}: {
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
    const fastify = await start<number>('host/plain-fastify.ts');
    const open = await start<{ port: number }>('host/bare-function-host.ts');
    const checked = await start<{ port: number; token: string }>('host/bare-function-host.ts', ['checked']);
    await start('preview/load.ts');
    const load = workers.at(-1) as Worker<unknown>;
    const ask = (task: Omit<LoadTask, 'kind' | 'amount' | 'host'>) => async () =>
      (await load.ask({ kind: 'json', amount: seconds, host: 'localhost', ...task })) as number;
    const arms = {
      fastify: ask({ port: fastify }),
      host: ask({ port: open.port }),
      'host, agent token and zod': ask({
        port: checked.port,
        path: '/?name=bench&times=3',
        token: checked.token,
      }),
    };
    await interleave(arms, 1);
    const figures = await interleave(arms, rounds);
    return [
      compare('function host / fastify, hello world', figures, ['host', 'fastify'], 'req/s', {
        at: 'least',
        value: 0.85,
      }),
      compare(
        'function host / fastify, with agent token and zod',
        figures,
        ['host, agent token and zod', 'fastify'],
        'req/s',
        {
          at: 'least',
          value: 0.7,
        },
      ),
    ];
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}
