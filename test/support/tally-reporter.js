import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** In a lane of test/run.ts it prints a line a suite as well; a summary of each would be noise. */
const Lines = process.env.TEST_LANE
  ? createRequire(import.meta.resolve('jest'))('@jest/reporters').DefaultReporter
  : Object;

/** Writes the counts of each suite, its duration and the reasons of skips, for test/run.ts. */
export default class TallyReporter extends Lines {
  onTestResult(test, result, aggregated) {
    super.onTestResult?.(test, result, aggregated);
    const { numPassingTests, numFailingTests, numPendingTests, numTodoTests } = result;
    const { perfStats, testExecError, testResults } = result;
    const reasons = new Set();
    for (const { status, fullName } of testResults) {
      const reason = /\[skipped: (.*?)\]/.exec(fullName)?.[1];
      if (status === 'pending' && reason) reasons.add(reason);
    }
    const tally = {
      file: test.path,
      passed: numPassingTests,
      // A suite that fails to load has no tests to count, and is a failure all the same.
      failed: numFailingTests + (testExecError && numFailingTests === 0 ? 1 : 0),
      skipped: numPendingTests + numTodoTests,
      reasons: [...reasons],
      ms: perfStats.end - perfStats.start,
    };
    if (process.env.TALLY_FILE) appendFileSync(process.env.TALLY_FILE, `${JSON.stringify(tally)}\n`);
  }
}
