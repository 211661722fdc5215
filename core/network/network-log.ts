import { LRUCache } from 'lru-cache';
import type { Clock } from '#base/clock-and-ids.ts';
import type { BlockedHost, NetworkAttempt } from './network.ts';
import type { SandboxEventPublisher } from '../sandboxes/sandbox-event-publisher.ts';

/**
 * Equal attempts within this time, in milliseconds, are one event: an install makes hundreds of
 * connections.
 */
const TOGETHER_MS = 1_000;

/** The same where another process reads which hosts were blocked, and refusals wait for it. */
export const TOGETHER_REMOTE_MS = 50;

/** Blocked hosts to keep per sandbox, and sandboxes to keep them for. */
const MAX_BLOCKED = 50;
const MAX_SANDBOXES = 2_000;

interface Pending {
  readonly sandboxId: string;
  readonly first: NetworkAttempt;
  attempts: number;
  bytesIn: number;
  bytesOut: number;
  ms: number;
}

export interface NetworkLog {
  attempted(sandboxId: string, attempt: NetworkAttempt): void;
  /** Resolves once every attempt so far is among the events, without writing it earlier. */
  written(): Promise<void>;
  /** Destinations blocked since then, each host and port once. */
  blockedSince(sandboxId: string, since: Date): readonly BlockedHost[];
  /** Resolves once every attempt so far is among the events. */
  settled(): Promise<void>;
}

/** Publishes connection attempts of sandboxes as events. */
export function networkLog(deps: {
  readonly publisher: Pick<SandboxEventPublisher, 'publish' | 'settled'>;
  readonly clock: Clock;
  readonly togetherMs?: number | undefined;
}): NetworkLog {
  const { publisher, clock, togetherMs = TOGETHER_MS } = deps;
  const pending = new Map<string, Pending>();
  const blocked = new LRUCache<string, (BlockedHost & { readonly at: Date })[]>({ max: MAX_SANDBOXES });
  let timer: NodeJS.Timeout | undefined;
  let flushed = Promise.withResolvers<void>();
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    for (const { sandboxId, first, attempts, bytesIn, bytesOut, ms } of pending.values()) {
      const { host, port, decision, rule, refusal } = first;
      const amounts = { attempts, bytes_in: bytesIn, bytes_out: bytesOut, ms };
      const why = { rule, ...(refusal !== undefined && { refusal }) };
      publisher.publish(sandboxId, 'network', { host, port, decision, ...why, ...amounts });
    }
    pending.clear();
    flushed.resolve();
    flushed = Promise.withResolvers();
  };
  return {
    attempted(sandboxId, attempt) {
      const { host, port, decision, rule, refusal, bytesIn, bytesOut, ms } = attempt;
      const key = JSON.stringify([sandboxId, host, port, decision, rule]);
      const known = pending.get(key) ?? {
        sandboxId,
        first: attempt,
        attempts: 0,
        bytesIn: 0,
        bytesOut: 0,
        ms: 0,
      };
      known.attempts += 1;
      known.bytesIn += bytesIn;
      known.bytesOut += bytesOut;
      known.ms = Math.max(known.ms, ms);
      pending.set(key, known);
      timer ??= setTimeout(flush, togetherMs).unref();
      if (decision !== 'blocked') return;
      const list = (blocked.get(sandboxId) ?? []).filter((each) => each.host !== host || each.port !== port);
      blocked.set(sandboxId, [...list, { host, port, rule, refusal, at: clock.now() }].slice(-MAX_BLOCKED));
    },
    async written() {
      if (pending.size > 0) await flushed.promise;
      await publisher.settled();
    },
    blockedSince: (sandboxId, since) =>
      (blocked.peek(sandboxId) ?? [])
        .filter(({ at }) => at >= since)
        .map(({ host, port, rule, refusal }) => ({ host, port, rule, refusal })),
    async settled() {
      flush();
      await publisher.settled();
    },
  };
}
