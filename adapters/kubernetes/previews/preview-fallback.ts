import { endWith } from '#proxy/front/raw-answer.ts';
import { ownPath } from '#proxy/own-path.ts';
import type { PreviewProxy } from '#proxy/preview-proxy.ts';
import type { PreviewStatus, StatusPageContext } from '#proxy/status-page.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import type { PreviewRecords } from '#core/previews/preview-records.ts';
import { isPreviewToken, tokenFingerprint, tokenSha256 } from '#core/previews/preview-token.ts';
import { unlessAborted } from '#base/concurrency.ts';
import { within } from '../client/exchange.ts';

export interface PreviewFallbackDeps {
  readonly plane: Pick<PreviewPlane, 'find'>;
  readonly records: Pick<PreviewRecords, 'tombstone'>;
  readonly log: { warn(fields: object, message: string): void };
  /** Where visitors report a preview. @default - the operator of the domain */
  readonly reportContact?: string | undefined;
  /** Timeout of a look-up, in milliseconds. @default 5,000 */
  readonly pollMs?: number | undefined;
}

interface Page {
  readonly status: PreviewStatus;
  readonly context?: StatusPageContext;
}

/**
 * Maximum concurrent look-ups; other requests get a page that says to retry. Requests need no
 * credential, and each look-up costs one read of the API server and of the database. Less than the
 * database's connections (ten), which the API also needs.
 */
const MAX_LOOKS = 8;

/** Loaded on demand: functions without a gateway send none. */
const pages = () => import('#proxy/status-answer.ts');

/**
 * Answers in a cluster for every host of the zone without a route in the Gateway: starting, ended
 * or unknown previews. Responses have `X-Porthole-Status`, by which a waiting start recognizes
 * them.
 */
export function createPreviewFallback({
  plane,
  records,
  log,
  reportContact,
  pollMs = 5_000,
}: PreviewFallbackDeps): PreviewProxy {
  let looking = 0;

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
      if (live !== undefined) return { status: 'starting', context: { targetPort: live.targetPort } };
      const reason = tombstone?.reason ?? 'unknown';
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
        const found =
          ownPath(req.url)?.kind === 'report'
            ? { status: 'report' as const, context: { host: req.headers.host, contact: reportContact } }
            : look(token);
        const [{ status, context }, { answerWithPage }] = await Promise.all([found, pages()]);
        if (!res.destroyed) answerWithPage(req, res, status, context, expectsContinue);
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
