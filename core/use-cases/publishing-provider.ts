import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { type SandboxChange, sandboxChanged } from '../rules/run-events.ts';
import { changedProvider } from './changed-provider.ts';
import type { SandboxEventPublisher } from './sandbox-event-publisher.ts';

/**
 * A provider that tells the runs of a sandbox, and whoever follows it, what becomes of it, whoever asked for it: a person, a command that brings it back, a host that ends. Its creation is told with
 * that of its run.
 */
export function publishingProvider(
  provider: SandboxProvider,
  {
    records,
    clock,
    publisher,
  }: {
    readonly records: Pick<Records, 'runs' | 'timeline'>;
    readonly clock: Clock;
    readonly publisher: Pick<SandboxEventPublisher, 'publish'>;
  },
): SandboxProvider {
  const publish = async (change: SandboxChange, id: string) => {
    for (const runId of await records.runs.inSandbox(id)) {
      await records.timeline.append(runId, [sandboxChanged(change, id)], clock.now());
    }
  };
  return changedProvider(provider, {
    async stop(id, signal) {
      const { state } = await provider.inspect(id, signal);
      await provider.stop(id, signal);
      if (state !== 'running' && state !== 'creating') return;
      publisher.publish(id, 'stopped', {});
      await publish('sandbox.stopped', id);
    },

    async resume(id, signal) {
      const { state } = await provider.inspect(id, signal);
      await provider.resume(id, signal);
      if (state === 'running') return;
      publisher.publish(id, 'resumed', {});
      await publish('sandbox.resumed', id);
    },

    // Told also when it was gone before: whoever removed it may have been killed before it could tell.
    async destroy(id, signal) {
      await provider.destroy(id, signal);
      await publish('sandbox.destroyed', id);
    },
  });
}
