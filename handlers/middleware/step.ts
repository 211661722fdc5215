import type { Caller } from '#core/callers.ts';
import type { HttpEvent, HttpResponse } from '../http-event.ts';

/** The event on its way through the chain: each step adds what it found out. */
export interface ChainEvent extends HttpEvent {
  caller?: Caller;
  input?: { readonly params: unknown; readonly query: unknown; readonly body: unknown };
}

/** What middy hands to each step. */
export interface ChainRequest {
  event: ChainEvent;
  response: HttpResponse | undefined;
  error: unknown;
}

/** A middy middleware over our events. */
export interface Step {
  readonly before?: (request: ChainRequest) => void | Promise<void>;
  readonly after?: (request: ChainRequest) => void | Promise<void>;
  readonly onError?: (request: ChainRequest) => void | Promise<void>;
}
