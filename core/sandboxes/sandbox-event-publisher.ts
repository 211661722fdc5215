import { type Caller, performerOf } from '../callers.ts';
import type { RunningCommand } from '../processes/execute-command.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import type { NewSandboxEvent, SandboxEventType } from './sandbox-events.ts';
import type { EventData } from '../runs/timeline.ts';

/** Events kept per sandbox, for clients that reconnect. */
export const SANDBOX_EVENTS_KEPT = 1_000;
/** Most unwritten events of all sandboxes. Beyond it, the database is too slow: drops events. */
const MAX_WAITING = 10_000;
/** Most published characters of a command or a path. */
const MAX_TEXT_CHARS = 1_000;
/**
 * Characters of a command that are searched for secrets: more than are published, so that a cut
 * secret is still recognized; few, because the patterns cost time.
 */
const MAX_SEARCHED_CHARS = 4_000;

export interface SandboxEventPublisherDeps {
  readonly records: Pick<Records, 'sandboxEvents'>;
  readonly clock: Clock;
  /** Removes Porthole's secrets from a command: readers of the events may not see them. */
  readonly redact: (text: string) => string;
  /** Called when events could not be written. */
  readonly failed: (error: unknown) => void;
  /**
   * Until an event is written, in milliseconds. A write takes a third of the time of a short
   * command: a later one delays no next command, and holds the events of several. @default 0
   */
  readonly delayMs?: number | undefined;
}

/** Publishes what happens in a sandbox to its followers, asynchronously. */
export interface SandboxEventPublisher {
  readonly publish: (
    sandboxId: string,
    type: SandboxEventType,
    data: EventData,
    /** Published once, however many instances publish it. */
    key?: string,
  ) => void;
  /** Resolves once every event published so far can be read. */
  settled(): Promise<void>;
}

export function createSandboxEventPublisher(deps: SandboxEventPublisherDeps): SandboxEventPublisher {
  const { records, clock, redact, failed, delayMs = 0 } = deps;
  const waiting = new Map<string, NewSandboxEvent[]>();
  let count = 0;
  let writing: Promise<void> | undefined;
  let writeNow = (): void => {};
  const write = async () => {
    // After the responses of this turn of the event loop: no caller waits for the write.
    await new Promise<void>((resolve) => {
      if (delayMs === 0) setImmediate(resolve);
      else setTimeout(resolve, delayMs);
      writeNow = resolve;
    });
    for (let next = waiting.entries().next(); next.done !== true; next = waiting.entries().next()) {
      const [sandboxId, events] = next.value;
      waiting.delete(sandboxId);
      count -= events.length;
      await records.sandboxEvents
        .append(sandboxId, events.slice(-SANDBOX_EVENTS_KEPT), SANDBOX_EVENTS_KEPT)
        .catch(failed);
    }
    writing = undefined;
  };
  return {
    publish(sandboxId, type, data, key) {
      if (count >= MAX_WAITING) return;
      const events = waiting.get(sandboxId) ?? [];
      events.push({
        type,
        at: clock.now(),
        data: shortened(type === 'exec' ? redacted(data, redact) : data),
        key,
      });
      waiting.set(sandboxId, events);
      count += 1;
      writing ??= write();
    },
    settled: async () => {
      writeNow();
      await writing;
    },
  };
}

function redacted({ command, ...data }: EventData, redact: (text: string) => string): EventData {
  return {
    ...data,
    ...(typeof command === 'string' && { command: redact(command.slice(0, MAX_SEARCHED_CHARS)) }),
  };
}

function shortened(data: EventData): EventData {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > MAX_TEXT_CHARS
        ? `${value.slice(0, MAX_TEXT_CHARS)}…`
        : value,
    ]),
  );
}

/**
 * Publishes a command once it has ended, its words joined by spaces. A command with an unknown end
 * is not published.
 */
export function publishCommand(
  { publish }: Pick<SandboxEventPublisher, 'publish'>,
  sandboxId: string,
  argv: readonly string[],
  { exitCode, detailId }: RunningCommand,
  caller: Caller,
): void {
  const startedAt = performance.now();
  exitCode.then(
    (code) =>
      publish(sandboxId, 'exec', {
        command: argv.join(' '),
        exit_code: code,
        duration_ms: Math.round(performance.now() - startedAt),
        detail: detailId,
        ...performerOf(caller),
      }),
    () => undefined,
  );
}
