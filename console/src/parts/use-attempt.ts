import { type Dispatch, type SetStateAction, useState } from 'react';
import { problemOf } from '../live/use-live.ts';

export interface Attempts {
  /** An attempt is running. */
  readonly busy: boolean;
  /** The error of the last attempt, for the user. */
  readonly problem: string | undefined;
  readonly setProblem: Dispatch<SetStateAction<string | undefined>>;
  /** Runs it. Its error is shown until the next attempt. */
  readonly attempt: (work: () => Promise<unknown>) => Promise<void>;
}

/**
 * The state of a user's action: running, or failed.
 * @param wordsOf message for an error; undefined: shown elsewhere. @default the API's message
 */
export function useAttempt(wordsOf: (error: unknown) => string | undefined = problemOf): Attempts {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const attempt = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
    } catch (error) {
      setProblem(wordsOf(error));
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, setProblem, attempt };
}
