/** Primes the pool of sandboxes once. */
import { primePool } from '#handlers/ops/scheduled.ts';
import { runOnce } from './run-once.ts';

await runOnce(primePool);
