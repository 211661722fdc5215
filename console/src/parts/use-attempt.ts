import { type Dispatch, type SetStateAction, useState } from 'react';
import { problemOf } from '../live/use-live.ts';

export interface Attempts {
  /** One is under way. */
  readonly busy: boolean;
  /** What went wrong with the last one, for a person. */
  readonly problem: string | undefined;
  readonly setProblem: Dispatch<SetStateAction<string | undefined>>;
  /** Does it. What it throws is the problem, until something is attempted again. */
  readonly attempt: (work: () => Promise<unknown>) => Promise<void>;
}

/**
 * Something that a person has done by a press: while it lasts, and when it goes wrong.
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
