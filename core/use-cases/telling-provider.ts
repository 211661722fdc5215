import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { type SandboxChange, sandboxChanged } from '../rules/run-events.ts';
import { changedProvider } from './changed-provider.ts';
import type { SandboxNews } from './sandbox-news.ts';

/**
 * A provider that tells the runs of a sandbox, and whoever follows it, what becomes of it, whoever asked for it: a person, a command that brings it back, a host that ends. Its creation is told with
 * that of its run.
 */
export function tellingProvider(
  provider: SandboxProvider,
  {
    records,
    clock,
    news,
  }: {
    readonly records: Pick<Records, 'runs' | 'timeline'>;
    readonly clock: Clock;
    readonly news: Pick<SandboxNews, 'tell'>;
  },
): SandboxProvider {
  const tell = async (change: SandboxChange, id: string) => {
    for (const runId of await records.runs.inSandbox(id)) {
      await records.timeline.append(runId, [sandboxChanged(change, id)], clock.now());
    }
  };
  return changedProvider(provider, {
    async stop(id, signal) {
      const { state } = await provider.inspect(id, signal);
      await provider.stop(id, signal);
      if (state !== 'running' && state !== 'creating') return;
      news.tell(id, 'stopped', {});
      await tell('sandbox.stopped', id);
    },

    async resume(id, signal) {
      const { state } = await provider.inspect(id, signal);
      await provider.resume(id, signal);
      if (state === 'running') return;
      news.tell(id, 'resumed', {});
      await tell('sandbox.resumed', id);
    },

    // Told also when it was gone before: whoever removed it may have been killed before it could tell.
    async destroy(id, signal) {
      await provider.destroy(id, signal);
      await tell('sandbox.destroyed', id);
    },
  });
}
