import { setTimeout as after } from 'node:timers/promises';
import type { PortholeApi } from './porthole-api.ts';
import { devServerLog } from './vite-sandbox.ts';

/** The fields of the API's preview that the demo uses. */
export interface Preview {
  readonly session_id: string;
  /** Null if previews are loopback ports: then `local_port` is set. */
  readonly preview_url: string | null;
  readonly local_port: number;
  readonly keepalive_url: string | null;
  readonly ready: boolean;
  /** Why it is not ready, e.g. `nothing_listens`. */
  readonly reason?: string;
}

const READY_WITHIN_MS = 30_000;
const ASK_EVERY_MS = 100;

/** Opens the preview of a port. Idempotent: a repetition returns the same URL. */
export function startPreview(api: PortholeApi, runId: string, port: number): Promise<Preview> {
  return api.call('POST', `/api/runs/${runId}/sandbox/port-forward`, { target_port: port });
}

/**
 * Polls until something listens on the port.
 * @throws with the dev server's output on a timeout
 */
export async function untilServed(
  api: PortholeApi,
  run: { readonly run_id: string; readonly sandbox_id: string },
  port: number,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  while (!(await startPreview(api, run.run_id, port)).ready) {
    if (performance.now() > deadline) {
      const log = await devServerLog(api, run.sandbox_id);
      throw new Error(`The dev server does not listen on port ${port}. It said:\n${log.trim()}`);
    }
    await after(ASK_EVERY_MS, undefined, { signal });
  }
}
