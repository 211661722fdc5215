import { Worker } from 'node:worker_threads';
import type { SchemaValidator, SchemaResult } from '#core/editor/tool-schemas.ts';
import { FairQueue } from '#base/concurrency.ts';
import type { SchemaCase } from './schema-worker.ts';

/** Concurrent threads: hostile schemas must not take every core. */
const MAX_THREADS = 2;
/** Timeout of a validation, in milliseconds: a thousand times what an ordinary schema needs. */
const VALIDATED_WITHIN_MS = 1_000;
/** Timeout for a thread to start on a busy machine, in milliseconds. */
const STARTS_WITHIN_MS = 30_000;
const MEMORY = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

/** One thread per case, terminated with it. Free threads are assigned fairly among owners. */
export function workerSchemaValidator(): SchemaValidator {
  const queue = new FairQueue({ perOwner: MAX_THREADS, total: MAX_THREADS, waiting: Infinity });
  return {
    async validate(queueKey, schemas, value) {
      if (Object.keys(schemas).length === 0) return { kind: 'fits' };
      const place = await queue.enter(queueKey);
      try {
        return await validateInThread({ schemas, value });
      } finally {
        place?.end();
      }
    },
  };
}

async function validateInThread(asked: SchemaCase): Promise<SchemaResult> {
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
    return await new Promise<SchemaResult>((resolve, reject) => {
      limit = setTimeout(
        () => reject(new Error('the schema validation thread did not start')),
        STARTS_WITHIN_MS,
      );
      let isReady = false;
      worker.on('message', (said: typeof READY | SchemaResult) => {
        if (said !== READY) return resolve(said);
        isReady = true;
        clearTimeout(limit);
        limit = setTimeout(() => resolve({ kind: 'too_costly' }), VALIDATED_WITHIN_MS);
      });
      // After READY, any failure is caused by the case: it exceeds the memory or stack limit.
      const failed = (error: Error) => (isReady ? resolve({ kind: 'too_costly' }) : reject(error));
      worker.once('error', failed);
      worker.once('exit', (code) => failed(new Error(`the schema validation thread ended with ${code}`)));
    });
  } finally {
    clearTimeout(limit);
    await worker.terminate();
  }
}
