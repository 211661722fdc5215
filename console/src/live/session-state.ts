import { createContext } from 'react';

/** State of the user's session. */
export interface SessionState {
  /** It has ended: no requests until the next sign-in. */
  readonly over: boolean;
  /** Changes after each sign-in: streams and requests start again. */
  readonly count: number;
}

export const SessionContext = createContext<SessionState>({ over: false, count: 0 });
