/** A pool of containers, on a real engine. */
import { afterAll, beforeAll } from '@jest/globals';
import { warmPoolContract } from '#test/contracts/warm-pool.contract.ts';
import { openManagedPools } from '#test/core/use-cases/warm-pool/managed-pool-harness.ts';
import { suite } from '#test/support/suite.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';

suite('a pool of containers', engineMissing(), () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await openTestEngine();
  }, 120_000);
  afterAll(() => engine.stop());

  warmPoolContract(() => openManagedPools(engine.openProvider(), () => Promise.resolve()), {
    hands: true,
    part: 'provider',
  });
});
