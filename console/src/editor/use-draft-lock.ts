import { useCallback, useEffect, useState } from 'react';
import { type Answer, ApiError, call } from '../api/client.ts';
import { problemOf } from '../live/use-live.ts';

/** A lock lasts ten minutes from its last renewal; so often it is renewed. */
const RENEW_MS = 120_000;

export type LockState =
  | { readonly kind: 'asking' }
  /** The token is kept here and nowhere else: after a reload the lock is taken over by its own holder. */
  | { readonly kind: 'held'; readonly token: string }
  | { readonly kind: 'refused'; readonly why: string; readonly locked: boolean };

/** Holds the draft's lock while the page is open, and gives it back afterwards. */
export function useDraftLock(
  toolId: string,
  me: Answer<'GET /api/session'> | undefined,
): { readonly state: LockState; readonly takeOver: () => void } {
  const [state, setState] = useState<LockState>({ kind: 'asking' });
  const [forced, setForced] = useState(0);
  const user = me?.user;
  useEffect(() => {
    if (user === undefined) return undefined;
    const path = { tool_id: toolId };
    let token: string | undefined;
    let ended = false;
    const release = (held: string) =>
      void call('DELETE /api/v1/editor/tools/{tool_id}/draft/lock', {
        path,
        headers: { 'draft-lock-token': held },
      }).catch(() => undefined);
    const take = async () => {
      try {
        const { lock } = await call('GET /api/v1/editor/tools/{tool_id}/draft', { path });
        const taken = await call('POST /api/v1/editor/tools/{tool_id}/draft/lock', {
          path,
          body: { take_over: forced > 0 || lock?.holder === user },
        });
        if (ended) {
          release(taken.lock_token);
          return;
        }
        token = taken.lock_token;
        setState({ kind: 'held', token });
      } catch (error) {
        const locked = error instanceof ApiError && error.status === 423;
        if (!ended) setState({ kind: 'refused', why: problemOf(error), locked });
      }
    };
    void take();
    const timer = setInterval(() => {
      if (token === undefined) return;
      call('PUT /api/v1/editor/tools/{tool_id}/draft/lock', {
        path,
        headers: { 'draft-lock-token': token },
      }).catch((error: unknown) => {
        if (!ended && error instanceof ApiError && error.status === 423) {
          setState({ kind: 'refused', why: error.message, locked: true });
        }
      });
    }, RENEW_MS);
    return () => {
      ended = true;
      clearInterval(timer);
      if (token !== undefined) release(token);
    };
  }, [toolId, user, forced]);
  const takeOver = useCallback(() => setForced((count) => count + 1), []);
  return { state, takeOver };
}
