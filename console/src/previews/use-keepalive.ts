import { useEffect, useState } from 'react';
import { ApiError, call } from '../api/client.ts';
import { checkConnection } from '../live/connection.ts';
import { problemOf, useConnection, useVisible } from '../live/use-live.ts';

/** Keepalive interval of a visible preview. */
const KEEPALIVE_MS = 60_000;
/** Retry interval after a failed keepalive. */
const AGAIN_MS = 10_000;

export interface Kept {
  /** Its expiry without another keepalive; null: never. */
  readonly expiry: string | null;
  /** Why keepalives fail; undefined while they succeed. */
  readonly problem: string | undefined;
}

/** Sends a keepalive every minute while the preview is visible. */
export function useKeepalive(
  runId: string,
  {
    session_id: token,
    expires_at: notice,
    preview_url: url,
  }: {
    readonly session_id: string;
    readonly expires_at: string | null;
    readonly preview_url: string | null;
  },
): Kept {
  const visible = useVisible();
  const { returns } = useConnection();
  const [expiry, setExpiry] = useState(notice);
  const [problem, setProblem] = useState<string>();
  useEffect(() => setExpiry(notice), [notice]);
  useEffect(() => {
    if (!visible || url === null) return undefined;
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const keep = async () => {
      let next = KEEPALIVE_MS;
      try {
        const { expires_at: at } = await call('POST /api/runs/{id}/sandbox/preview/{token}/keepalive', {
          path: { id: runId, token },
          signal: ended.signal,
        });
        setExpiry(at);
        setProblem(undefined);
      } catch (error) {
        if (ended.signal.aborted) return;
        // A lost connection is shown once, by the frame of the page.
        const isOurs = error instanceof ApiError || (await checkConnection());
        if (ended.signal.aborted) return;
        if (isOurs) setProblem(problemOf(error));
        next = AGAIN_MS;
      }
      if (!ended.signal.aborted) timer = setTimeout(() => void keep(), next);
    };
    void keep();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [runId, token, url, visible, returns]);
  return { expiry, problem };
}
