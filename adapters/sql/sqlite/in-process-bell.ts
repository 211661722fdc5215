import { type Bell, watchers } from '../bell.ts';

/** A file of records belongs to one process: whoever appends and whoever watches are both in it. */
export function inProcessBell(): Bell {
  const watching = watchers();
  return {
    announce: () => Promise.resolve(),
    committed: (runId) => watching.wake(runId),
    watch: (runId, wake) => watching.add(runId, wake),
    close: () => Promise.resolve(),
  };
}
