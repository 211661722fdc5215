import { useEffect, useState } from 'react';
import { type Answer, call } from '../api/client.ts';
import { usePolled } from '../live/use-live.ts';

/** Interval of a visible preview's keepalives, and after one that failed, in milliseconds. */
const KEEPALIVE_MS = 60_000;
const AGAIN_MS = 10_000;

/**
 * Sends a keepalive every minute while the preview is visible.
 * @returns its expiry without another one, null: never; and why they fail, if they do
 */
export function useKeepalive(
  runId: string,
  {
    session_id: token,
    expires_at: notice,
    preview_url: url,
  }: Answer<'GET /api/runs/{id}/sandbox/port-forward'>[number],
) {
  const [expiry, setExpiry] = useState(notice);
  const { value: kept, problem } = usePolled(
    (signal) =>
      call('POST /api/runs/{id}/sandbox/preview/{token}/keepalive', { path: { id: runId, token }, signal }),
    url === null ? undefined : `${runId} ${token}`,
    KEEPALIVE_MS,
    AGAIN_MS,
  );
  useEffect(() => setExpiry(notice), [notice]);
  useEffect(() => {
    if (kept !== undefined) setExpiry(kept.expires_at);
  }, [kept]);
  return { expiry, problem };
}
