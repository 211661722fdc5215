import { appendFileSync } from 'node:fs';

/** Leaves what one run of jest has counted, and why suites were skipped, to whoever started it. */
export default class TallyReporter {
  onRunComplete(_contexts, results) {
    const reasons = new Set();
    for (const file of results.testResults) {
      for (const test of file.testResults) {
        const reason = /\[skipped: (.*?)\]/.exec(test.fullName)?.[1];
        if (test.status === 'pending' && reason) reasons.add(reason);
      }
    }
    const tally = {
      passed: results.numPassedTests,
      // A suite that fails to load has no tests to count, and is a failure all the same.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
      reasons: [...reasons],
    };
    if (process.env.TALLY_FILE) appendFileSync(process.env.TALLY_FILE, `${JSON.stringify(tally)}\n`);
  }
}
