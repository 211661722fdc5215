import { finished } from 'node:stream';
import type { Clock } from '../ports/clock.ts';
import type { Records } from '../ports/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { callGuest, changedProvider } from './changed-provider.ts';

/** How exactly activity is known, in milliseconds: it is written down at most this often. */
const EVERY_MS = 60_000;

/**
 * A provider that writes down that a sandbox is in use: when a command is started in it or a connection is made to it, and again and again while either lasts. So commands, files, terminals
 * and the traffic of previews all count, and nobody else has to think of it.
 */
export function activeProvider(
  provider: SandboxProvider,
  { records, clock }: { readonly records: Pick<Records, 'sandboxes'>; readonly clock: Clock },
): SandboxProvider {
  /** When it was written down last, of sandboxes that are in use or were a moment ago. */
  const told = new Map<string, number>();
  const open = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  const tell = async (id: string) => {
    const now = clock.now();
    if (now.getTime() - (told.get(id) ?? 0) < EVERY_MS) return;
    told.set(id, now.getTime());
    const sandbox = await records.sandboxes.get(id);
    if (sandbox !== undefined) await records.sandboxes.touch(sandbox, now);
  };
  // A look at what is in use must fail nobody's command: the next one comes in a minute.
  const tellQuietly = (id: string) => void tell(id).catch(() => told.delete(id));
  const begin = (id: string) => {
    tellQuietly(id);
    open.set(id, (open.get(id) ?? 0) + 1);
    timer ??= setInterval(() => {
      for (const each of open.keys()) tellQuietly(each);
      const old = clock.now().getTime() - 2 * EVERY_MS;
      for (const [each, at] of told) if (at < old) told.delete(each);
    }, EVERY_MS).unref();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (open.get(id) ?? 1) - 1;
      if (left > 0) open.set(id, left);
      else open.delete(id);
    };
  };

  return changedProvider(provider, {
    async close() {
      clearInterval(timer);
      await provider.close();
    },

    async exec(id, command, signal) {
      const process = await provider.exec(id, command, signal);
      const end = begin(id);
      process.exited.then(end, end);
      return process;
    },

    callGuest:
      provider.callGuest &&
      (async (id, call, signal) => {
        const end = begin(id);
        try {
          const answer = await callGuest(provider, id, call, signal);
          finished(answer, end);
          return answer;
        } catch (error) {
          end();
          throw error;
        }
      }),

    async dial(id, port, signal) {
      const stream = await provider.dial(id, port, signal);
      finished(stream, begin(id));
      return stream;
    },
  });
}
