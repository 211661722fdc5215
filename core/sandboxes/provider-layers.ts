import { type Caller, performerOf } from '../callers.ts';
import { finished } from 'node:stream';
import { PortholeError } from '../errors.ts';
import type { RunningCommand } from '../processes/execute-command.ts';
import { type SandboxChange, sandboxChanged } from '../runs/run-events.ts';
import type { Clock } from '../shared/clock-and-ids.ts';
import type { Records } from '../shared/records.ts';
import type { SandboxActivity } from './sandbox-activity.ts';
import type { SandboxEventPublisher } from './sandbox-event-publisher.ts';
import type { ExecCommand, ExecProcess, SandboxProvider } from './sandbox-provider.ts';
import { whyEnded } from './why-ended.ts';

/** The provider with some methods replaced, mostly by wrappers. */
export function changedProvider(
  provider: SandboxProvider,
  changes: Partial<Omit<SandboxProvider, 'name' | 'defaultSize'>>,
): SandboxProvider {
  return {
    name: provider.name,
    defaultSize: provider.defaultSize,
    enforcement: (network) => provider.enforcement(network),
    runsImage: (reference, signal) => provider.runsImage(reference, signal),
    create: (spec, signal) => provider.create(spec, signal),
    inspect: (id, signal) => provider.inspect(id, signal),
    stop: (id, signal) => provider.stop(id, signal),
    resume: (id, signal) => provider.resume(id, signal),
    destroy: (id, signal) => provider.destroy(id, signal),
    exec: (id, command, signal) => provider.exec(id, command, signal),
    dial: (id, port, signal) => provider.dial(id, port, signal),
    callGuest: (id, call, signal) => provider.callGuest(id, call, signal),
    list: (signal) => provider.list(signal),
    close: () => provider.close(),
    ...changes,
  };
}

/**
 * A provider that records use when a command starts or a connection opens, and periodically while
 * either lasts. Commands, files, terminals and the traffic of previews all count.
 */
export function activeProvider(provider: SandboxProvider, activity: SandboxActivity): SandboxProvider {
  return changedProvider(provider, {
    async exec(id, command, signal) {
      const process = await provider.exec(id, command, signal);
      const end = activity.begin(id);
      process.exited.then(end, end);
      return process;
    },

    async callGuest(id, call, signal) {
      const end = activity.begin(id);
      try {
        const answer = await provider.callGuest(id, call, signal);
        finished(answer, end);
        return answer;
      } catch (error) {
        end();
        throw error;
      }
    },

    async dial(id, port, signal) {
      const stream = await provider.dial(id, port, signal);
      finished(stream, activity.begin(id));
      return stream;
    },
  });
}

/**
 * Publishes a command once it has ended, its words joined by spaces. A command with an unknown end
 * is not published.
 */
export function publishCommand(
  { publish }: Pick<SandboxEventPublisher, 'publish'>,
  sandboxId: string,
  argv: readonly string[],
  { exitCode }: RunningCommand,
  caller: Caller,
): void {
  const startedAt = performance.now();
  exitCode.then(
    (code) =>
      publish(sandboxId, 'exec', {
        command: argv.join(' '),
        exit_code: code,
        duration_ms: Math.round(performance.now() - startedAt),
        ...performerOf(caller),
      }),
    () => undefined,
  );
}

/**
 * A provider that publishes a sandbox's changes to the timelines of its runs and to its followers,
 * whatever the cause: a person, a command that resumes it, a host that ends. Its creation is
 * published with its run.
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

    // Published even if it was already absent: the process that removed it may have been killed
    // before publishing.
    async destroy(id, signal) {
      await provider.destroy(id, signal);
      await publish('sandbox.destroyed', id);
    },
  });
}

/**
 * A provider that resumes a sandbox that died, killed from within or with its machine, when a
 * command is to run in it. The desired state decides: a sandbox that was stopped stays stopped. Its
 * files survive, its processes do not: a command that is lost with its sandbox reports that.
 */
export function revivingProvider(
  provider: SandboxProvider,
  records: Pick<Records, 'sandboxes'>,
): SandboxProvider {
  const isWanted = async (id: string) => (await records.sandboxes.get(id))?.desired === 'running';
  const explained = async (id: string, { tty }: ExecCommand, error: unknown): Promise<never> => {
    const isLost = error instanceof PortholeError && error.code === 'exec_transport_error';
    const what = tty === undefined ? 'command' : 'terminal';
    const why = isLost ? await whyEnded({ records, provider }, { id }, what) : undefined;
    throw why === undefined ? error : new PortholeError('exec_transport_error', why, { cause: error });
  };
  const start = async (id: string, command: ExecCommand, signal?: AbortSignal): Promise<ExecProcess> => {
    const process = await provider.exec(id, command, signal);
    const exited = process.exited.catch((error: unknown) => explained(id, command, error));
    // Callers may read only the output, which reports the loss: avoids an unhandled rejection,
    // which would end the host.
    exited.catch(() => {});
    return {
      stdin: process.stdin,
      stdout: process.stdout,
      stderr: process.stderr,
      exited,
      kill: (name) => process.kill(name),
      resize: (cols, rows) => process.resize(cols, rows),
    };
  };
  return changedProvider(provider, {
    async callGuest(id, call, signal) {
      try {
        return await provider.callGuest(id, call, signal);
      } catch (error) {
        // Safe to retry: nothing of the body has been read.
        const isDown = error instanceof PortholeError && error.code === 'sandbox_not_running';
        if (!isDown || !(await isWanted(id))) throw error;
      }
      await provider.resume(id, signal);
      return provider.callGuest(id, call, signal);
    },

    async exec(id, command, signal) {
      try {
        return await start(id, command, signal);
      } catch (error) {
        const isDown = error instanceof PortholeError && error.code === 'sandbox_not_running';
        if (!isDown || !(await isWanted(id))) return explained(id, command, error);
      }
      await provider.resume(id, signal);
      return start(id, command, signal);
    },
  });
}
