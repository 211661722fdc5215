import type { Repetition } from './retry-delay.ts';

/** One exchange with the API server. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** For messages: what is done to what. */
  readonly what: string;
  readonly repetition: Repetition;
  readonly accept?: string;
  readonly type?: string;
  readonly body?: unknown;
}
