import { setTimeout as sleep } from 'node:timers/promises';
import type { GuestEvent, GuestEventName } from '#protocol/guest/ports-protocol.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Guests } from './guest.ts';
import type { ServerSentEvent } from '#base/server-sent-events.ts';
import { FollowedTasks } from '#base/followed-tasks.ts';
import { TokenBucket } from '#base/token-bucket.ts';
import { noteTurnOwner } from '../sandboxes/turn-owners.ts';
import { eventData } from './guest-answers.ts';
import type { Records } from '../records.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { changesSince, guestEventsOf, type PortSeen } from '../sandboxes/sandbox-events.ts';
import type { SandboxEventPublisher } from '../sandboxes/sandbox-event-publisher.ts';

/** Backoff between connections, in ms: doubled up to the longest. */
const AGAIN_MS = { first: 100, longest: 5_000 } as const;

/**
 * Rate limit for the events of one sandbox: a burst, and one more per interval in ms. Code inside
 * could create any number, and timelines are durable.
 */
const PUBLISHED = { burst: 300, intervalMs: 2_000 } as const;

/**
 * Rate limit for the events that a guest sends, before they are parsed: 200 a second. A guest
 * reports hundreds of a busy sandbox; one that sends more is disconnected.
 */
const RECEIVED = { burst: 2_000, intervalMs: 5 } as const;
/** Characters of an event that take one more token. */
const TOKEN_LENGTH = 1_024;
/** Backoff after a flood, in ms: doubled up to the longest, until there was none for a time. */
const FLOODED_MS = { first: 1_000, longest: 60_000, forgotten: 600_000 } as const;

export interface WatchGuestsDeps {
  readonly guests: Guests;
  readonly sandboxes: Pick<Sandboxes, 'inspect'>;
  readonly records: Pick<Records, 'runs' | 'timeline' | 'sandboxes'>;
  readonly publisher: Pick<SandboxEventPublisher, 'publish'>;
  readonly clock: Clock;
  /** Removes Porthole's secrets from a text. */
  readonly redact: (text: string) => string;
  readonly failed: (sandboxId: string, error: unknown) => void;
}

/** In ms: how often a stopped sandbox that is followed is asked whether it runs again. */
const LOOK_AGAIN_MS = 5_000;

/**
 * One event stream per sandbox. What happens in it is published on its own events and on the
 * timelines of its runs. A host that knows when sandboxes start watches each that runs; replicas in
 * a cluster follow those that a client follows.
 */
export class GuestWatcher {
  readonly #deps: WatchGuestsDeps;
  readonly #watched = new Map<string, Promise<void>>();
  /** Started again while the end of their last run was still being published. */
  readonly #again = new Set<string>();
  readonly #over = new AbortController();
  readonly #followed: FollowedTasks;

  constructor(deps: WatchGuestsDeps) {
    this.#deps = deps;
    this.#followed = new FollowedTasks(deps.failed);
  }

  /**
   * Until the returned function is called, over stops and resumes. All followers of a sandbox share
   * one stream.
   */
  follow(id: string): () => void {
    return this.#followed.follow(id, (signal) => this.#followAlways(id, signal));
  }

  /**
   * Watches the sandbox until it stops. After a call meanwhile it is watched again, because it may
   * have restarted.
   */
  watch(id: string): void {
    if (this.#over.signal.aborted) return;
    if (this.#watched.has(id)) {
      this.#again.add(id);
      return;
    }
    const watching = this.#follow(id, this.#over.signal)
      .catch((error: unknown) => {
        if (!this.#over.signal.aborted) this.#deps.failed(id, error);
      })
      .finally(() => {
        this.#watched.delete(id);
        if (this.#again.delete(id)) this.watch(id);
      });
    this.#watched.set(id, watching);
  }

  async close(): Promise<void> {
    this.#over.abort();
    await Promise.all([...this.#watched.values(), this.#followed.close()]);
  }

  async #followAlways(id: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#follow(id, signal);
      await sleep(LOOK_AGAIN_MS, undefined, { signal, ref: false });
    }
  }

  /** Publishing is work for the sandbox's owner. */
  async #noteOwner(id: string): Promise<void> {
    const sandbox = await this.#deps.records.sandboxes.get(id);
    if (sandbox !== undefined) noteTurnOwner(sandbox);
  }

  async #follow(id: string, signal: AbortSignal): Promise<void> {
    const { guests, sandboxes, clock } = this.#deps;
    const sandbox = new WatchedSandbox(id, this.#deps);
    const received = new TokenBucket(RECEIVED.burst, RECEIVED.intervalMs, clock);
    let pause: number = AGAIN_MS.first;
    const flooded = new FloodBackoff(clock);
    await this.#noteOwner(id);
    while (!signal.aborted) {
      try {
        for await (const event of guests.of(id).events('/v1/events', signal)) {
          if (!received.spend(1 + Math.floor(event.data.length / TOKEN_LENGTH))) throw flood(id);
          pause = AGAIN_MS.first;
          await sandbox.take(event);
        }
      } catch (error) {
        // The provider decides whether any other failure matters.
        if (error instanceof GuestFlood) {
          this.#deps.failed(id, error);
          pause = flooded.next();
        }
      }
      if (signal.aborted) return;
      const { state } = await sandboxes.inspect(id, signal);
      if (state !== 'running' && state !== 'creating') {
        await sandbox.stopped();
        return;
      }
      await sleep(pause, undefined, { signal, ref: false });
      pause = Math.min(2 * pause, AGAIN_MS.longest);
    }
  }
}

class GuestFlood extends Error {}

class FloodBackoff {
  readonly #clock: Clock;
  #pause = 0;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  next(): number {
    const now = this.#clock.now().getTime();
    const isRecent = this.#pause > 0 && now - this.#last < FLOODED_MS.forgotten;
    this.#pause = isRecent ? Math.min(2 * this.#pause, FLOODED_MS.longest) : FLOODED_MS.first;
    this.#last = now;
    return this.#pause;
  }
}

function flood(id: string): GuestFlood {
  return new GuestFlood(`The guest of sandbox ${id} sends events too fast: it is disconnected for a while.`);
}

/** State of one watched sandbox, and its rate limit of published events. */
class WatchedSandbox {
  readonly #id: string;
  readonly #deps: WatchGuestsDeps;
  #ports = new Map<number, PortSeen>();
  readonly #published: TokenBucket;

  constructor(id: string, deps: WatchGuestsDeps) {
    this.#id = id;
    this.#deps = deps;
    this.#published = new TokenBucket(PUBLISHED.burst, PUBLISHED.intervalMs, deps.clock);
  }

  async take(received: ServerSentEvent): Promise<void> {
    const event = await validEvent(this.#id, received);
    if (event === undefined) return;
    if (event.name === 'snapshot') {
      const now = this.#deps.clock.now().toISOString();
      for (const change of changesSince(this.#ports, event.data, now)) {
        await this.#publish(change, this.#ports.get(change.data.port));
      }
      this.#ports = new Map(event.data.ports.map((listener) => [listener.port, listener]));
      return;
    }
    if (event.name === 'port') {
      const { port, listener } = event.data;
      const closed = this.#ports.get(port);
      if (listener === null) this.#ports.delete(port);
      else this.#ports.set(port, listener);
      await this.#publish(event, closed);
      return;
    }
    await this.#publish(event);
  }

  /** No process listens in it any more. */
  async stopped(): Promise<void> {
    const at = this.#deps.clock.now().toISOString();
    for (const [port, closed] of this.#ports) {
      await this.#publish({ name: 'port', data: { port, state: 'closed', at, listener: null } }, closed);
    }
    this.#ports.clear();
  }

  async #publish(change: Exclude<GuestEvent, { name: 'snapshot' }>, closed?: PortSeen): Promise<void> {
    const { records, publisher, redact, clock } = this.#deps;
    const published = guestEventsOf(change, redact, closed);
    if (published === undefined || !this.#published.spend()) return;
    publisher.publish(this.#id, published.sandbox.type, published.sandbox.data, published.run.key);
    for (const runId of await records.runs.inSandbox(this.#id)) {
      await records.timeline.append(runId, [published.run], clock.now());
    }
  }
}

/** Undefined for an event of a later version. @throws an error for one that is not valid */
async function validEvent(id: string, came: ServerSentEvent): Promise<GuestEvent | undefined> {
  // Loaded on demand: most functions watch no guest.
  const { guestEvents } = await import('#protocol/guest/ports-protocol.ts');
  if (!Object.hasOwn(guestEvents, came.event)) return undefined;
  const name = came.event as GuestEventName;
  return { name, data: await eventData<unknown>(came, id, guestEvents[name]) } as GuestEvent;
}
