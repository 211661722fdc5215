import { PortholeError } from '#base/errors.ts';
import type { PreviewStatus } from '#proxy/status-page.ts';

/** The page that explains why no connection to the app could be made. */
export function dialFailure(error: unknown): PreviewStatus {
  if (!(error instanceof PortholeError)) return 'unreachable';
  if (error.code === 'nothing_listens') return 'nothing_listens';
  const stopped = error.code === 'sandbox_not_running' || error.code === 'sandbox_not_found';
  return stopped ? 'sandbox_stopped' : 'unreachable';
}
