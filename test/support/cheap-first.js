import { createRequire } from 'node:module';

const Sequencer = createRequire(import.meta.resolve('jest'))('@jest/test-sequencer').default;

/** Suites that start no process of their own: they fail within the first minute. */
const CHEAP = /\/test\/(?:core|console|constructs|infra|policies|handlers|client|build)\//;

/** Cheap suites first, so that most mistakes show early; the others longest first, as jest has it. */
export default class CheapFirst extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests);
    return [
      ...sorted.filter(({ path }) => CHEAP.test(path)),
      ...sorted.filter(({ path }) => !CHEAP.test(path)),
    ];
  }
}
