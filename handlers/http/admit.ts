import type middy from '@middy/core';
import { Readable } from 'node:stream';
import { type Caller, SERVICE } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { WakingClock } from '#base/clock-and-ids.ts';
import { type FairLimits, FairQueue, TokenBuckets, type Place } from '#base/concurrency.ts';
import type { HttpEvent, HttpResponse } from './http-event.ts';

/**
 * Cost of a request. `cheap`: a look-up or a change. `heavy`: work on many files, or a transfer.
 * `stream`: its duration depends on a client, a command or a person; it never waits for a slot.
 */
export type RouteClass = 'cheap' | 'heavy' | 'stream';

/** The event on its way through the chain: each step adds its findings. */
export interface ChainEvent extends HttpEvent {
  caller?: Caller;
  /** Its slot among the running requests. */
  place?: Place;
  input?: { readonly params: unknown; readonly query: unknown; readonly body: unknown };
}

/** A middy middleware for our events. */
export type Step = middy.MiddlewareObj<ChainEvent, HttpResponse, unknown, object>;

export interface RequestLimits extends Readonly<Record<RouteClass, FairLimits>> {
  /** Streams that one owner may open without pause, beyond a first burst. */
  readonly streamsPerSecond: number;
  /** Different invalid keys and tokens from one address, per minute. */
  readonly wrongSecretsPerMinute: number;
}

/** Running requests of each class, in all functions of this process. */
export interface Admission extends Readonly<Record<RouteClass, FairQueue>> {
  readonly pace: TokenBuckets;
}

export function createAdmission(
  { cheap, heavy, stream, streamsPerSecond }: Omit<RequestLimits, 'wrongSecretsPerMinute'>,
  clock: WakingClock,
): Admission {
  return {
    cheap: new FairQueue(cheap),
    heavy: new FairQueue(heavy),
    stream: new FairQueue(stream),
    // A client may open again at once all that it may have open, for example after a restart.
    pace: new TokenBuckets(stream.perOwner, streamsPerSecond, clock),
  };
}

/**
 * Starts a request when its owner has a slot in the class of its route. The slot is held until the
 * response has ended: the body of an event stream or a download, the WebSocket of a terminal.
 * Clients that open and close streams without pause wait for their turn: a limit on what is open at
 * a time does not bound how often they open. They wait in their slots, so few can wait.
 * @throws PortholeError `too_many_requests`
 */
export function admit(
  services: { readonly admission: Admission },
  route: {
    readonly class?: RouteClass | undefined;
    readonly body?: 'stream' | object | undefined;
    readonly method: string;
  },
): Step {
  const kind = route.class ?? 'cheap';
  // The duration of a body depends on its client.
  const isSlow = route.body === 'stream' || (typeof route.body === 'object' && 'form' in route.body);
  // A command (POST) does its work while the client waits for it.
  const isPaced = kind === 'stream' && route.method === 'GET';
  const hold = (event: ChainEvent, owner: string, most: number | undefined, place: Place | undefined) => {
    if (place === undefined) throw tooMany(kind, event.caller);
    if (isSlow) place.releaseSharedSlot();
    event.place = place;
    if (isPaced && most === undefined) return services.admission.pace.start(owner, () => event.signal);
    return undefined;
  };
  return {
    before({ event }) {
      if (event.caller === undefined) return undefined;
      const owner = admittedOwner(event.caller);
      const most = mostOf(event.caller);
      const place = services.admission[kind].enter(owner, () => event.signal, most);
      if (place instanceof Promise) return place.then((given) => hold(event, owner, most, given));
      return hold(event, owner, most, place);
    },
    after({ event, response }) {
      const { place } = event;
      if (place === undefined) return;
      place.releaseSharedSlot();
      if (response?.body instanceof Readable) {
        response.body.once('close', () => place.end());
        return;
      }
      // The signal of a WebSocket aborts when its connection ends.
      const signal = response?.upgrade === undefined ? undefined : event.signal;
      if (signal === undefined || signal.aborted) place.end();
      else signal.addEventListener('abort', () => place.end(), { once: true });
    },
    onError({ event }) {
      event.place?.end();
    },
  };
}

/**
 * All agents of an owner share separate slots: what code in a sandbox does must not keep its
 * owner from stopping it. A delegate is limited by the sandbox: its owner may have given it to a
 * service with its own users.
 */
export function admittedOwner(caller: Caller): string {
  if (caller.kind === 'delegate') return JSON.stringify(['sandbox', caller.sandboxId]);
  if (caller.kind === 'person') return JSON.stringify(['person', caller.org, caller.user]);
  const { owner } = caller;
  return JSON.stringify(owner === undefined ? ['run', caller.runId] : ['agents', owner.org, owner.user]);
}

/** The service key acts for many people: only the global limit applies. Others: undefined. */
function mostOf(caller: Caller): number | undefined {
  return caller.kind === 'person' && caller.user === SERVICE.user ? Number.POSITIVE_INFINITY : undefined;
}

const WHAT: Readonly<Record<RouteClass, string>> = {
  cheap: 'requests',
  heavy: 'listings, archives and transfers',
  stream: 'event streams, commands and terminals',
};

function tooMany(kind: RouteClass, caller: Caller | undefined): PortholeError {
  const who = caller?.kind === 'agent' ? 'The agents of this owner have' : 'You have';
  return new PortholeError('too_many_requests', `${who} too many ${WHAT[kind]} open at once`, {
    remedy: 'end some, or try again in a few seconds.',
  });
}
