import { useEffect, useRef, useState } from 'react';
import type { PreviewStatus } from './preview-labels.ts';

/** Looks in a row that find nothing before an app that has served counts as away, and not as busy. */
const AWAY_LOOKS = 2;
/** And so long without any server, in milliseconds: one that restarts brings its page back by itself. */
const AWAY_MS = 3_000;

export interface Frame {
  /** There is none while the app has never served: why is told in words. */
  readonly isShown: boolean;
  /** Another number when it is to be loaded again: somebody asked for it, or the app was away, and what is shown may be a page about that. */
  readonly loads: number;
  /** Loads it from its beginning, wherever somebody has gone in it: a page cannot have another origin's go on from where it is. */
  readonly reload: () => void;
}

/**
 * @param look another object for each look at the app
 * @param isClosed nothing listens: not a server that is merely busy
 */
export function useFrame(state: PreviewStatus['state'], look: unknown, isClosed: boolean): Frame {
  const [frame, setFrame] = useState<Omit<Frame, 'reload'>>({ isShown: true, loads: 0 });
  const hasServed = useRef(false);
  const missed = useRef(0);
  const closedSince = useRef<number>(undefined);
  useEffect(() => {
    if (state === 'checking') return;
    if (state === 'not serving') {
      missed.current += 1;
      if (isClosed) closedSince.current ??= Date.now();
      if (!hasServed.current) setFrame(({ loads }) => ({ isShown: false, loads }));
      return;
    }
    const closedFor = closedSince.current === undefined ? 0 : Date.now() - closedSince.current;
    const wasAway = missed.current >= (hasServed.current ? AWAY_LOOKS : 1) || closedFor >= AWAY_MS;
    closedSince.current = undefined;
    hasServed.current = true;
    missed.current = 0;
    setFrame(({ loads }) => ({ isShown: true, loads: wasAway ? loads + 1 : loads }));
  }, [state, look, isClosed]);
  const reload = () => setFrame(({ isShown, loads }) => ({ isShown, loads: loads + 1 }));
  return { ...frame, reload };
}
