import { useEffect, useMemo, useRef, useState } from 'react';
import { keepLock, type LockRenewal, type LockState } from './lock-renewal.ts';

export interface DraftLock extends Omit<LockRenewal, 'stop'> {
  readonly state: LockState;
}

/** The draft's lock while the tool's page is mounted. */
export function useDraftLock(
  toolId: string,
  user: string,
  onRevision: (revision: number) => void,
): DraftLock {
  const [state, setState] = useState<LockState>({ kind: 'asking' });
  const renewal = useRef<LockRenewal>(undefined);
  const listener = useRef(onRevision);
  listener.current = onRevision;
  useEffect(() => {
    const own = keepLock({
      toolId,
      user,
      onState: setState,
      onRevision: (revision) => listener.current(revision),
    });
    renewal.current = own;
    return () => own.stop();
  }, [toolId, user]);
  const ways = useMemo(
    () => ({
      take: async () => renewal.current?.take(),
      use: async <T>(work: (token: string) => Promise<T>) => renewal.current?.use(work),
      touch: () => renewal.current?.touch(),
    }),
    [],
  );
  return { state, ...ways };
}
