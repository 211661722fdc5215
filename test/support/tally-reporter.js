import { writeSync } from 'node:fs';

/** Ends the run with one line that a script can read, and says why each skipped suite did not run. */
export default class TallyReporter {
  onRunComplete(_contexts, results) {
    const skipped = results.numPendingTests + results.numTodoTests;
    const reasons = new Set();
    for (const file of results.testResults) {
      for (const test of file.testResults) {
        const reason = /\[skipped: (.*?)\]/.exec(test.fullName)?.[1];
        if (test.status === 'pending' && reason) reasons.add(reason);
      }
    }
    const lines = [...reasons].map((reason) => `skipped: ${reason}\n`);
    // A suite that fails to load has no tests to count, and is a failure all the same.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    lines.push(`${results.numPassedTests} passed, ${failed} failed, ${skipped} skipped\n`);
    // After jest's own summary, so that it is the last line of all.
    process.once('exit', () => writeSync(1, lines.join('')));
  }
}
