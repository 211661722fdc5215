import { Worker } from 'node:worker_threads';
import type { SchemaJudge, SchemaVerdict } from '#core/ports/schema-judge.ts';
import { FairQueue } from '#core/use-cases/fair-queue.ts';
import type { SchemaCase } from './schema-worker.ts';

/** Threads at a time: hostile schemas must not take every core. */
const MOST_THREADS = 2;
/** How long judging may take: a thousand times what an ordinary schema needs. */
const JUDGED_WITHIN_MS = 1_000;
/** How long a thread may take to start, on a machine that is busy. */
const STARTS_WITHIN_MS = 30_000;
const MEMORY = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

/** A thread for each case, which ends with it, in time or not. Free threads go to owners in fair turns. */
export function workerSchemaJudge(): SchemaJudge {
  const queue = new FairQueue({ perOwner: MOST_THREADS, total: MOST_THREADS, waiting: Infinity });
  return {
    async judge(whose, schemas, value) {
      if (Object.keys(schemas).length === 0) return { kind: 'fits' };
      const place = await queue.enter(whose);
      try {
        return await judgeInThread({ schemas, value });
      } finally {
        place?.end();
      }
    },
  };
}

async function judgeInThread(asked: SchemaCase): Promise<SchemaVerdict> {
  const { CASE, READY, SCHEMA_WORKER } = await import('./schema-worker.ts');
  const worker = new Worker(SCHEMA_WORKER, {
    workerData: { [CASE]: asked },
    resourceLimits: MEMORY,
    env: {},
    stdout: true,
    stderr: true,
  });
  let limit: NodeJS.Timeout | undefined;
  try {
    return await new Promise<SchemaVerdict>((resolve, reject) => {
      limit = setTimeout(
        () => reject(new Error('the thread that judges schemas did not start')),
        STARTS_WITHIN_MS,
      );
      let isReady = false;
      worker.on('message', (said: typeof READY | SchemaVerdict) => {
        if (said !== READY) return resolve(said);
        isReady = true;
        clearTimeout(limit);
        limit = setTimeout(() => resolve({ kind: 'too_costly' }), JUDGED_WITHIN_MS);
      });
      // Once it judges, whatever ends it is the case's doing: its memory, or its stack.
      const failed = (error: Error) => (isReady ? resolve({ kind: 'too_costly' }) : reject(error));
      worker.once('error', failed);
      worker.once('exit', (code) => failed(new Error(`the thread that judges schemas ended with ${code}`)));
    });
  } finally {
    clearTimeout(limit);
    await worker.terminate();
  }
}
