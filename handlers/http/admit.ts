import type middy from '@middy/core';
import { Readable } from 'node:stream';
import { type Caller, SERVICE } from '#core/callers.ts';
import { PortholeError } from '#core/errors.ts';
import { type FairLimits, FairQueue, type Place } from '#core/shared/concurrency.ts';
import type { Route, RouteClass } from '../route.ts';
import type { HttpEvent, HttpResponse } from './http-event.ts';

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
  /** Different invalid keys and tokens from one address, per minute. */
  readonly wrongSecretsPerMinute: number;
}

/** Running requests of each class, in all functions of this process. */
export type Admission = Readonly<Record<RouteClass, FairQueue>>;

export function createAdmission({
  cheap,
  heavy,
  stream,
}: Omit<RequestLimits, 'wrongSecretsPerMinute'>): Admission {
  return { cheap: new FairQueue(cheap), heavy: new FairQueue(heavy), stream: new FairQueue(stream) };
}

/**
 * Starts a request when its owner has a slot in the class of its route. The slot is held until the
 * response has ended: the body of an event stream or a download, the WebSocket of a terminal.
 * @throws PortholeError `too_many_requests`
 */
export function admit(admission: () => Admission, route: Pick<Route, 'class' | 'body'>): Step {
  const kind = route.class ?? 'cheap';
  // The duration of a body depends on its client.
  const isSlow = route.body === 'stream' || (typeof route.body === 'object' && 'form' in route.body);
  const hold = (event: ChainEvent, place: Place | undefined) => {
    if (place === undefined) throw tooMany(kind);
    if (isSlow) place.begun();
    event.place = place;
  };
  return {
    before({ event }) {
      if (event.caller === undefined) return undefined;
      const owner = ownerOf(event.caller);
      const place = admission()[kind].enter(owner, () => event.signal, mostOf(event.caller));
      if (place instanceof Promise) return place.then((given) => hold(event, given));
      return hold(event, place);
    },
    after({ event, response }) {
      const { place } = event;
      if (place === undefined) return;
      place.begun();
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
 * Agents count as the owner of their run. A delegate is limited by the sandbox: its owner may have
 * given it to a service with its own users.
 */
function ownerOf(caller: Caller): string {
  if (caller.kind === 'delegate') return JSON.stringify(['sandbox', caller.sandboxId]);
  if (caller.kind === 'person') return JSON.stringify(['person', caller.org, caller.user]);
  const { owner } = caller;
  return JSON.stringify(owner === undefined ? ['run', caller.runId] : ['person', owner.org, owner.user]);
}

/** The service key acts for many people: only the global limit applies. */
function mostOf(caller: Caller): number | undefined {
  return caller.kind === 'person' && caller.user === SERVICE.user ? Number.POSITIVE_INFINITY : undefined;
}

const WHAT: Readonly<Record<RouteClass, string>> = {
  cheap: 'requests',
  heavy: 'listings, archives and transfers',
  stream: 'event streams, commands and terminals',
};

function tooMany(kind: RouteClass): PortholeError {
  return new PortholeError('too_many_requests', `You have too many ${WHAT[kind]} open at once`, {
    remedy: 'end some, or try again in a few seconds.',
  });
}
