import { useRef, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { checkConnection, currentConnection } from '../live/connection.ts';

/**
 * The state of a user's action: running, or failed with a problem that is shown until the next
 * attempt. `retry` runs the last work again.
 * @param wordsOf message for an error; undefined: shown elsewhere. @default the API's message
 */
export function useAttempt(wordsOf: (error: unknown) => string | undefined = actionProblemOf) {
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
