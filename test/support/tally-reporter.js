import { appendFileSync } from 'node:fs';

/** Leaves what a run of jest has counted in each file, how long it took, and why suites were skipped, to test/run.ts. */
export default class TallyReporter {
  onTestResult(
    { path },
    {
      numPassingTests,
      numFailingTests,
      numPendingTests,
      numTodoTests,
      perfStats,
      testExecError,
      testResults,
    },
  ) {
    const reasons = new Set();
    for (const { status, fullName } of testResults) {
      const reason = /\[skipped: (.*?)\]/.exec(fullName)?.[1];
      if (status === 'pending' && reason) reasons.add(reason);
    }
    const tally = {
      file: path,
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
