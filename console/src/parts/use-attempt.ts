import { type Dispatch, type SetStateAction, useRef, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { checkConnection, currentConnection } from '../live/connection.ts';

export interface Attempts {
  /** An attempt is running. */
  readonly busy: boolean;
  /** The error of the last attempt, for the user. */
  readonly problem: string | undefined;
  readonly setProblem: Dispatch<SetStateAction<string | undefined>>;
  /** Runs it. Its error is shown until the next attempt. */
  readonly attempt: (work: () => Promise<unknown>) => Promise<void>;
  /** Runs the last work again. */
  readonly retry: () => void;
}

/**
 * The state of a user's action: running, or failed.
 * @param wordsOf message for an error; undefined: shown elsewhere. @default the API's message
 */
export function useAttempt(wordsOf: (error: unknown) => string | undefined = actionProblemOf): Attempts {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const last = useRef<() => Promise<unknown>>(undefined);
  const attempt = async (work: () => Promise<unknown>) => {
    last.current = work;
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) await checkConnection();
      setProblem(wordsOf(error));
    } finally {
      setBusy(false);
    }
  };
  const retry = () => {
    if (last.current !== undefined) void attempt(last.current);
  };
  return { busy, problem, setProblem, attempt, retry };
}

/**
 * The message of a failed action, which is not repeated by itself. The frame of the page shows that
 * the connection is lost.
 */
export function actionProblemOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return currentConnection().isLost ? 'That failed. Try again.' : 'Can’t reach Porthole. Try again.';
}
