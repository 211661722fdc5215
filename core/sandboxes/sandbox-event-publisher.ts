import type { Clock } from '../shared/clock-and-ids.ts';
import type { Records } from '../shared/records.ts';
import type { NewSandboxEvent, SandboxEventType } from './sandbox-events.ts';
import type { EventData } from '../runs/timeline.ts';

/** Events of one sandbox that are kept for those who come back. */
export const SANDBOX_EVENTS_KEPT = 1_000;
/**
 * Events that wait to be written, of all sandboxes: beyond, the database is too slow for them, and
 * what happens is told of no more.
 */
const MOST_WAITING = 10_000;
/** Letters of a command or a path. */
const MOST_TEXT = 1_000;
/**
 * Letters of a command in which secrets are looked for: more than are told, so that none is cut and
 * not known any more; and few, for the patterns cost time.
 */
const MOST_LOOKED_AT = 4_000;

export interface SandboxEventPublisherDeps {
  readonly records: Pick<Records, 'sandboxEvents'>;
  readonly clock: Clock;
  /** Takes the secrets of Porthole out of a command: who may read the events need not hold them. */
  readonly redact: (text: string) => string;
  /** Hears why some could not be told. */
  readonly failed: (error: unknown) => void;
}

/**
 * Tells whoever follows a sandbox what happens in it. Nobody who does something there waits for
 * that.
 */
export interface SandboxEventPublisher {
  readonly publish: (
    sandboxId: string,
    type: SandboxEventType,
    data: EventData,
    /** Published once, however many instances publish it. */
    key?: string,
  ) => void;
  /** Once everything that was told so far can be read. */
  settled(): Promise<void>;
}

export function createSandboxEventPublisher({
  records,
  clock,
  redact,
  failed,
}: SandboxEventPublisherDeps): SandboxEventPublisher {
  const waiting = new Map<string, NewSandboxEvent[]>();
  let count = 0;
  let writing: Promise<void> | undefined;
  const write = async () => {
    // After the answers of this turn: what happens at once goes into one write, and no caller waits
    // for it.
    await new Promise((resolve) => setImmediate(resolve));
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
      if (count >= MOST_WAITING) return;
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
    settled: async () => writing,
  };
}

function redacted({ command, ...data }: EventData, redact: (text: string) => string): EventData {
  return {
    ...data,
    ...(typeof command === 'string' && { command: redact(command.slice(0, MOST_LOOKED_AT)) }),
  };
}

function shortened(data: EventData): EventData {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > MOST_TEXT ? `${value.slice(0, MOST_TEXT)}…` : value,
    ]),
  );
}
