import { finished } from 'node:stream';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { changedProvider } from './changed-provider.ts';
import type { SandboxActivity } from './sandbox-activity.ts';

/**
 * A provider that records use: when a command is started in a sandbox or a connection is made to it, and again while either
 * lasts. So commands, files, terminals and the traffic of previews all count.
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
