import { createContext } from 'react';

/** How it stands with the session of whoever is in front of the page. */
export interface SessionState {
  /** It is over: nothing is asked until somebody has signed in. */
  readonly over: boolean;
  /**
   * Another number after each sign-in: what was followed or asked for before is asked for again.
   */
  readonly count: number;
}

export const SessionContext = createContext<SessionState>({ over: false, count: 0 });
