import { endWith } from '#proxy/front/raw-answer.ts';
import { NO_PROXIES, type TrustedProxies } from '#proxy/client-address.ts';
import { ownPath } from '#proxy/own-path.ts';
import type { PreviewProxy } from '#proxy/preview-proxy.ts';
import type { PreviewStatus, StatusPageContext } from '#proxy/status-page.ts';
import type { KnownPreview } from '#core/previews/asleep-previews.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import type { PreviewRecords } from '#core/previews/preview-records.ts';
import type { PreviewAccess } from '#protocol/preview-access.ts';
import { AccessGate, isNavigation, isOpened, openUrl } from '#proxy/access/access-gate.ts';
import { isPreviewToken, previewName, tokenFingerprint, tokenSha256 } from '#core/previews/preview-token.ts';
import { onceOpen, unlessAborted } from '#base/concurrency.ts';
import { within } from '../client/exchange.ts';

export interface PreviewFallbackDeps {
  readonly plane: Pick<PreviewPlane, 'find'>;
  readonly records: Pick<PreviewRecords, 'tombstone'>;
  /** A preview that has ended, and starts again for visitors. */
  readonly asleep: (token: string) => Promise<KnownPreview | undefined>;
  readonly accessOf: (preview: KnownPreview) => Promise<PreviewAccess>;
  /** Page at which visitors enter, and start stopped previews. @default - none */
  readonly openPage?: string | undefined;
  readonly log: { warn(fields: object, message: string): void };
  /** Where visitors report a preview. @default - the operator of the domain */
  readonly reportContact?: string | undefined;
  /** @default - the client is the peer */
  readonly trustedProxies?: TrustedProxies | undefined;
  /** Timeout of a look-up, in milliseconds. @default 5,000 */
  readonly pollMs?: number | undefined;
}

interface Page {
  readonly status: PreviewStatus;
  readonly context?: StatusPageContext;
  /**
   * The browsers that are sent to where visitors enter. `every`: also those that do not say that a
   * person opens the page, as at previews that are not open to everyone. @default - none
   */
  readonly sends?: 'every' | 'modern';
}

/**
 * Maximum concurrent look-ups; other requests get a page that says to retry. Requests need no
 * credential, and each look-up costs one read of the API server and of the database. Less than the
 * database's connections (ten), which the API also needs.
 */
const MAX_LOOKS = 8;

/** Loaded on demand: functions without a gateway send none. */
const pages = async () => ({
  ...(await import('#proxy/status-answer.ts')),
  ...(await import('#proxy/access/entrance.ts')),
});

/**
 * Answers in a cluster for every host of the zone without a route in the Gateway: starting, ended
 * or unknown previews. Responses have `X-Porthole-Status`, by which a waiting start recognizes
 * them.
 */
export function createPreviewFallback(deps: PreviewFallbackDeps): PreviewProxy {
  const tokens = createTokenFallback(deps);
  const { openPage } = deps;
  // Without a page to enter at, no preview has a name.
  const names = openPage === undefined ? undefined : onceOpen(() => hiddenPreviews(openPage, deps));
  const of = async (key: string): Promise<PreviewProxy> => (key.includes('.') && names ? names() : tokens);
  return {
    ...tokens,
    handleRequest: (req, res, key, expectsContinue) =>
      void of(key).then((proxy) => proxy.handleRequest(req, res, key, expectsContinue)),
    handleUpgrade: (req, socket, head, key) =>
      void of(key).then((proxy) => proxy.handleUpgrade(req, socket, head, key)),
  };
}

/** Hosts by name without a route, in the way of the guests: a name can be guessed. */
async function hiddenPreviews(
  openPage: string,
  { log, reportContact, trustedProxies = NO_PROXIES }: PreviewFallbackDeps,
): Promise<PreviewProxy> {
  const [{ createPreviewProxy }, { clientAddress }, { hiddenTarget }, { NO_SIBLINGS }] = await Promise.all([
    import('#proxy/preview-proxy.ts'),
    import('#proxy/client-address.ts'),
    import('#proxy/preview-target.ts'),
    import('#proxy/siblings.ts'),
  ]);
  const nothing = (): void => undefined;
  return createPreviewProxy({
    gate: new AccessGate({
      read: () => undefined,
      openUrl: ({ token }, path) => openUrl(openPage, token, path),
      now: Date.now,
    }),
    lookup: (host) => ({ kind: 'live', target: hiddenTarget(host) }),
    dial: () => Promise.reject(new Error('a hidden preview has no app')),
    dialFailure: () => 'unreachable',
    clientAddress: (req) => clientAddress(req, trustedProxies),
    visitor(req) {
      const { host = '' } = req.headers;
      return { scheme: 'https', host, audience: '' };
    },
    touched: nothing,
    frameAncestors: () => [],
    siblings: () => NO_SIBLINGS,
    reportContact: () => reportContact,
    fingerprint: tokenFingerprint,
    log: { debug: nothing, warn: (fields, message) => log.warn(fields, message) },
    metrics: { answered: nothing, bytes: nothing, upgrades: nothing },
  });
}

function createTokenFallback({
  plane,
  records,
  asleep,
  accessOf,
  openPage,
  log,
  reportContact,
  pollMs = 5_000,
}: PreviewFallbackDeps): PreviewProxy {
  let looking = 0;
  const inTime = <T>(work: Promise<T>): Promise<T> =>
    within(pollMs, undefined, (limit) => unlessAborted(work, limit));
  const sendsTo = async (preview: KnownPreview): Promise<'every' | 'modern'> =>
    (await inTime(accessOf(preview))).level === 'link' ? 'modern' : 'every';

  const look = async (token: string): Promise<Page> => {
    // Hosts without a valid token need no look-up.
    if (!isPreviewToken(token)) return { status: 'unknown' };
    if (looking >= MAX_LOOKS) return { status: 'unreachable' };
    looking += 1;
    try {
      const [tombstone, live] = await within(pollMs, undefined, (limit) =>
        unlessAborted(Promise.all([records.tombstone(tokenSha256(token)), plane.find(token, limit)]), limit),
      );
      // Only an explicit stop is final: an expired preview may have been restarted under the same
      // URL.
      if (tombstone?.reason === 'stopped') return { status: 'stopped' };
      if (live !== undefined) {
        const context = { targetPort: live.targetPort };
        if (live.isDetached !== true) return { status: 'starting', context };
        return { status: 'sandbox_stopped', context, sends: await sendsTo(live) };
      }
      // Unknown and stopped previews look the same to a stranger.
      if (tombstone === undefined) return { status: 'unknown', sends: 'every' };
      const known = openPage === undefined ? undefined : await inTime(asleep(token));
      if (known !== undefined) return { status: 'expired', sends: await sendsTo(known) };
      const { reason } = tombstone;
      return { status: reason === 'max_lifetime' ? 'expired' : reason };
    } catch (error) {
      log.warn({ preview: tokenFingerprint(token), err: error }, 'a preview could not be looked up');
      return { status: 'unreachable' };
    } finally {
      looking -= 1;
    }
  };

  return {
    handleRequest(req, res, token, expectsContinue = false) {
      void (async () => {
        const found: Page | Promise<Page> =
          ownPath(req.url)?.kind === 'report'
            ? { status: 'report', context: { host: req.headers.host, contact: reportContact } }
            : look(token);
        const [{ status, context, sends }, { answerWithPage, sendAway }] = await Promise.all([
          found,
          pages(),
        ]);
        if (res.destroyed) return;
        const isSent = sends === 'every' ? isNavigation(req) : sends === 'modern' && isOpened(req);
        if (openPage !== undefined && isSent) {
          sendAway(req, res, openUrl(openPage, previewName(token), req.url ?? '/'));
        } else answerWithPage(req, res, status, context, expectsContinue);
      })();
    },
    handleUpgrade(req, socket, _head, token) {
      void (async () => {
        const [{ status, context }, { rawPageAnswer }] = await Promise.all([look(token), pages()]);
        if (!socket.destroyed) endWith(socket, rawPageAnswer(req, status, context).bytes);
      })();
    },
    limit: () => undefined,
    revoke: () => undefined,
    close: () => Promise.resolve(),
  };
}
