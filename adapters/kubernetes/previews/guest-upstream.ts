import { PortholeError } from '#base/errors.ts';
import type { Guests } from '#core/processes/guest.ts';
import type { Preview, PreviewSpec } from '#core/previews/preview-plane.ts';
import { type OpenPreviewRequest, openPreviewsAnswer } from '#protocol/guest/previews-protocol.ts';
import { within } from '../client/exchange.ts';

export interface GuestUpstreamOptions {
  readonly guests: Guests;
  /** Origins that may show previews in a frame: the console's. */
  readonly frameAncestors: readonly string[];
  /** The gateway connects to the app: the guest only watches the use of previews. */
  readonly direct: boolean;
  readonly now: () => Date;
}

/** The guests as the upstream of previews, or as what sees their use. */
export interface GuestUpstream {
  /**
   * Resolves once the guest serves the preview at its URL, or its sandbox does not run. A direct
   * preview needs no guest, and without its answer counts as unused.
   */
  open(spec: PreviewSpec, url: string, signal?: AbortSignal): Promise<void>;
  /**
   * The guest closes open connections of visitors. Never rejects: without a route, no new ones
   * arrive.
   */
  close(preview: Partial<Preview>): Promise<void>;
  /** @see PreviewPlane.lastUsed */
  lastUsed(preview: Preview, signal?: AbortSignal): Promise<Date | undefined>;
}

/**
 * Timeouts, in milliseconds. A guest answers within 20; a slow one must not block a start or a pass
 * of the reaper.
 */
const OPEN_MS = 5_000;
const ASK_MS = 2_000;

export function createGuestUpstream(options: GuestUpstreamOptions): GuestUpstream {
  const { guests, frameAncestors, direct, now } = options;
  const hostOf = (url: string): string => new URL(url).host;

  return {
    async open({ sandboxId, targetPort, runId, maxUntil }, url, signal) {
      const body: OpenPreviewRequest = {
        host: hostOf(url),
        run: runId,
        expires_at: maxUntil.toISOString(),
        frame_ancestors: [...frameAncestors],
        ...(direct && { direct }),
      };
      try {
        await within(direct ? ASK_MS : OPEN_MS, signal, async (limit) => {
          const path = `/v1/previews/${targetPort}`;
          await guests.of(sandboxId).call('PUT', path, openPreviewsAnswer, { body, signal: limit });
        });
      } catch (error) {
        signal?.throwIfAborted();
        if (direct) return;
        // The start continues and reports that the sandbox is stopped, as on every plane.
        const code = error instanceof PortholeError ? error.code : undefined;
        if (code !== 'sandbox_not_running' && code !== 'sandbox_not_found') throw error;
      }
    },

    async close({ sandboxId, targetPort, url }) {
      if (sandboxId === undefined || targetPort === undefined || url == null) return;
      const path = `/v1/previews/${targetPort}?host=${encodeURIComponent(hostOf(url))}`;
      await within(ASK_MS, undefined, async (limit) => {
        await guests.of(sandboxId).call('DELETE', path, openPreviewsAnswer, { signal: limit });
      }).catch(() => undefined);
    },

    async lastUsed({ sandboxId, targetPort, url }, signal) {
      if (url === null) return undefined;
      try {
        return await within(ASK_MS, signal, async (limit) => {
          const guest = guests.of(sandboxId);
          const { value } = await guest.call('GET', '/v1/previews', openPreviewsAnswer, { signal: limit });
          const host = hostOf(url);
          const own = value.previews.find((each) => each.host === host && each.port === targetPort);
          return typeof own?.idle_ms === 'number' ? new Date(now().getTime() - own.idle_ms) : undefined;
        });
      } catch {
        signal?.throwIfAborted();
        return undefined;
      }
    },
  };
}
