import { PortholeError } from '#base/errors.ts';
import type { Guests } from '#core/processes/guest.ts';
import type { Preview, PreviewSpec } from '#core/previews/preview-plane.ts';
import { type OpenPreviewRequest, openPreviewsAnswer } from '#protocol/guest/previews-protocol.ts';
import { previewName } from '#core/previews/preview-token.ts';
import { namedUrlOf } from './named-route.ts';
import { within } from '../client/exchange.ts';

export interface GuestUpstreamOptions {
  readonly guests: Guests;
  /** Origins that may show previews in a frame: the console's. */
  readonly frameAncestors: readonly string[];
  /**
   * Page at which visitors get tickets, and the public keys of these.
   * @default - previews are open to everyone who has their URL
   */
  readonly visits?: VisitOptions | undefined;
  /** Where visitors report a preview. @default - the operator of the domain */
  readonly reportContact?: string | undefined;
  /** The gateway connects to the app: the guest only watches the use of previews. */
  readonly direct: boolean;
  readonly now: () => Date;
}

export interface VisitOptions {
  readonly openUrl: string;
  readonly keys: readonly string[];
}

type OpenedPreview = Pick<
  PreviewSpec,
  'sandboxId' | 'targetPort' | 'runId' | 'maxUntil' | 'token' | 'access' | 'mapsLocalhost'
>;

/** The guests as the upstream of previews, or as what sees their use. */
export interface GuestUpstream {
  /**
   * Resolves once the guest serves the preview at its URL, or its sandbox does not run. A direct
   * preview needs no guest, and without its answer counts as unused.
   */
  open(spec: OpenedPreview, url: string, signal?: AbortSignal): Promise<void>;
  /**
   * Resolves once the guest enforces the access.
   * @throws PortholeError what the guest throws, also if its sandbox does not run
   */
  limit(spec: OpenedPreview, url: string, signal?: AbortSignal): Promise<void>;
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
  const { guests, frameAncestors, visits, reportContact, direct, now } = options;
  const hostOf = (url: string): string => new URL(url).host;

  const push = async (
    { sandboxId, targetPort, runId, maxUntil, token, access, mapsLocalhost }: OpenedPreview,
    url: string,
    signal: AbortSignal | undefined,
  ): Promise<void> => {
    const host = hostOf(url);
    const namedUrl = access && namedUrlOf({ access, url });
    const namedHost = namedUrl && hostOf(namedUrl);
    const body: OpenPreviewRequest = {
      host,
      run: runId,
      expires_at: maxUntil.toISOString(),
      frame_ancestors: [...frameAncestors],
      ...(direct && { direct }),
      ...(reportContact !== undefined && { report_contact: reportContact }),
      ...(mapsLocalhost !== undefined && { maps_localhost: mapsLocalhost }),
      ...(access !== undefined &&
        visits !== undefined && {
          access: {
            level: access.level,
            epoch: access.epoch,
            revoked: [...access.revoked],
            ...(namedHost !== undefined && { named_host: namedHost }),
            open_url: visits.openUrl,
            name: previewName(token),
            keys: [...visits.keys],
          },
        }),
    };
    const answer = await within(direct ? ASK_MS : OPEN_MS, signal, (limit) =>
      guests
        .of(sandboxId)
        .call('PUT', `/v1/previews/${targetPort}`, openPreviewsAnswer, { body, signal: limit }),
    );
    if (access === undefined || access.level === 'link') return;
    const own = answer.value.previews.find((each) => each.host === host && each.port === targetPort);
    if (own?.access_epoch === undefined) throw olderGuest(sandboxId, 'access levels');
    if (namedHost !== undefined && own.named_host === undefined)
      throw olderGuest(sandboxId, 'names of previews');
  };

  return {
    limit: push,

    async open(spec, url, signal) {
      try {
        await push(spec, url, signal);
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

/** Without levels, a guest of an earlier version would serve the preview to everyone. */
function olderGuest(sandboxId: string, what: string): PortholeError {
  return new PortholeError(
    'preview_not_enabled',
    `Sandbox ${sandboxId} runs a version of Porthole without ${what}`,
    { remedy: 'stop the sandbox and start it again, or choose the level link.' },
  );
}
