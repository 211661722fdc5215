import { setTimeout as after } from 'node:timers/promises';
import type { PortholeApi } from './porthole-api.ts';
import { devServerLog } from './vite-sandbox.ts';

/** What the API says of a preview, as much of it as the demo needs. */
export interface Preview {
  readonly session_id: string;
  /** Null where previews are loopback ports: then `local_port` is one. */
  readonly preview_url: string | null;
  readonly local_port: number;
  readonly keepalive_url: string | null;
  readonly ready: boolean;
  /** Why it is not ready, e.g. `nothing_listens`. */
  readonly reason?: string;
}

const READY_WITHIN_MS = 30_000;
const ASK_EVERY_MS = 100;

/** Opens the preview of a port. Idempotent: asked again, it answers with the same URL. */
export function startPreview(api: PortholeApi, runId: string, port: number): Promise<Preview> {
  return api.call('POST', `/api/runs/${runId}/sandbox/port-forward`, { target_port: port });
}

/**
 * Asks until something listens on the port. @throws with the dev server's own words when nothing
 * does
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
