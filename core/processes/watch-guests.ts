import { setTimeout as sleep } from 'node:timers/promises';
import type { GuestEvent, GuestEventName } from '#guest/protocol/ports-protocol.ts';
import type { Clock } from '../shared/clock-and-ids.ts';
import type { Guests } from './guest.ts';
import type { ServerSentEvent } from '../shared/server-sent-events.ts';
import { FollowedTasks } from '../shared/followed-tasks.ts';
import type { Records } from '../shared/records.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { changesSince, guestEventsOf, type PortSeen } from '../sandboxes/sandbox-events.ts';
import type { SandboxEventPublisher } from '../sandboxes/sandbox-event-publisher.ts';

/** Backoff between connections, in ms: doubled up to the longest. */
const AGAIN_MS = { first: 100, longest: 5_000 } as const;

/**
 * Rate limit for the events of one sandbox: a burst, and one more per interval in ms. Code inside
 * could create any number, and timelines are durable.
 */
const BURST = 300;
const REFILL_MS = 2_000;

export interface WatchGuestsDeps {
  readonly guests: Guests;
  readonly provider: Pick<Sandboxes, 'inspect'>;
  readonly records: Pick<Records, 'runs' | 'timeline'>;
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
   * Until the sandbox no longer runs. One that is watched is looked at once more at its end: it may
   * just have started again.
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

  async #follow(id: string, signal: AbortSignal): Promise<void> {
    const { guests, provider } = this.#deps;
    const sandbox = new WatchedSandbox(id, this.#deps);
    let pause: number = AGAIN_MS.first;
    while (!signal.aborted) {
      try {
        for await (const event of guests.of(id).events('/v1/events', signal)) {
          pause = AGAIN_MS.first;
          await sandbox.take(event);
        }
      } catch {
        // The provider decides whether it matters.
      }
      if (signal.aborted) return;
      const { state } = await provider.inspect(id, signal);
      if (state !== 'running' && state !== 'creating') {
        await sandbox.stopped();
        return;
      }
      await sleep(pause, undefined, { signal, ref: false });
      pause = Math.min(2 * pause, AGAIN_MS.longest);
    }
  }
}

/** What is known of one sandbox, and what may still be published of it. */
class WatchedSandbox {
  readonly #id: string;
  readonly #deps: WatchGuestsDeps;
  #ports = new Map<number, PortSeen>();
  #quotaLimits = BURST;
  #refilledAt: number;

  constructor(id: string, deps: WatchGuestsDeps) {
    this.#id = id;
    this.#deps = deps;
    this.#refilledAt = deps.clock.now().getTime();
  }

  async take(received: ServerSentEvent): Promise<void> {
    const event = await validEvent(received);
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
    if (published === undefined || !this.#spend()) return;
    publisher.publish(this.#id, published.sandbox.type, published.sandbox.data, published.run.key);
    for (const runId of await records.runs.inSandbox(this.#id)) {
      await records.timeline.append(runId, [published.run], clock.now());
    }
  }

  #spend(): boolean {
    const now = this.#deps.clock.now().getTime();
    const refilled = Math.floor((now - this.#refilledAt) / REFILL_MS);
    this.#refilledAt += refilled * REFILL_MS;
    this.#quotaLimits = Math.min(BURST, this.#quotaLimits + refilled);
    if (this.#quotaLimits < 1) return false;
    this.#quotaLimits -= 1;
    return true;
  }
}

/** Undefined for an event of a later version. @throws an error for one that is not valid */
async function validEvent({ event, data }: ServerSentEvent): Promise<GuestEvent | undefined> {
  // Loaded on demand: most functions watch no guest.
  const { guestEvents } = await import('#guest/protocol/ports-protocol.ts');
  if (!Object.hasOwn(guestEvents, event)) return undefined;
  const name = event as GuestEventName;
  return { name, data: guestEvents[name].parse(JSON.parse(data)) } as GuestEvent;
}
