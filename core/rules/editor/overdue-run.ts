import type { ToolRunError, ToolRunSummary } from '../../ports/editor.ts';

/** Of a run whose process ended in the middle of it. */
export const CUT_OFF: ToolRunError = {
  code: 'interrupted',
  message: 'The service ended in the middle of it: run again.',
  traceback: null,
};

/** The run as it counts at `now`: one that should have ended long ago was cut off, whether somebody has written that down yet or not. */
export function shownRun(run: ToolRunSummary, now: Date): ToolRunSummary {
  if (run.status !== 'running' || run.deadline > now) return run;
  return { ...run, status: 'failed', error: CUT_OFF, endedAt: run.deadline };
}
