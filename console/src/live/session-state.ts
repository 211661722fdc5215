import { createContext } from 'react';

/** State of the user's session. */
export interface SessionState {
  /** It has ended: no requests until the next sign-in. */
  readonly over: boolean;
  /**
   * Another number after each sign-in: what was followed or asked for before is asked for again.
   */
  readonly count: number;
}

export const SessionContext = createContext<SessionState>({ over: false, count: 0 });
