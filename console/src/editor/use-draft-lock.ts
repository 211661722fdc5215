import { useEffect, useMemo, useRef, useState } from 'react';
import { keepLock, type LockKeeper, type LockState } from './lock-keeper.ts';

export interface DraftLock extends Omit<LockKeeper, 'stop'> {
  readonly state: LockState;
}

/** The draft's lock while the page of its tool is there. */
export function useDraftLock(
  toolId: string,
  user: string,
  onRevision: (revision: number) => void,
): DraftLock {
  const [state, setState] = useState<LockState>({ kind: 'asking' });
  const keeper = useRef<LockKeeper>(undefined);
  const listener = useRef(onRevision);
  listener.current = onRevision;
  useEffect(() => {
    const own = keepLock({
      toolId,
      user,
      onState: setState,
      onRevision: (revision) => listener.current(revision),
    });
    keeper.current = own;
    return () => own.stop();
  }, [toolId, user]);
  const ways = useMemo(
    () => ({
      take: async () => keeper.current?.take(),
      use: async <T>(work: (token: string) => Promise<T>) => keeper.current?.use(work),
      touch: () => keeper.current?.touch(),
    }),
    [],
  );
  return { state, ...ways };
}
