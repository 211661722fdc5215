import { type Notifier, watchers } from '../notifier.ts';

/** A file of records belongs to one process: whoever appends and whoever watches are both in it. */
export function inProcessNotifier(): Notifier {
  const watching = watchers();
  return {
    announce: () => Promise.resolve(),
    committed: (runId) => watching.wake(runId),
    watch: (runId, wake) => watching.add(runId, wake),
    close: () => Promise.resolve(),
  };
}
