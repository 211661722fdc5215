import type { RequestListener, Server } from 'node:http';
import {
  createStrictServer,
  type FrontHandlers,
  type ServerCertificate,
  strictServerOptions,
} from '#proxy/front/strict-server.ts';
import type { PreviewProxy } from '#proxy/preview-proxy.ts';
import { answerWithPage } from '#proxy/status-answer.ts';
import { parsePreviewHost, previewHost } from '#core/previews/preview-token.ts';
import { parsePortHost, portHost } from '#core/previews/port-host.ts';
import { originError } from '#handlers/http/guards.ts';
import { leadToE2bPath } from './e2b-hosts.ts';
import { HandshakeResponse } from './handshake.ts';
import { refuse, refuseUpgrade } from './known-hosts.ts';

export interface FrontOptions {
  /** Serves the hosts of the preview zones; undefined: there are none. */
  readonly gateway: PreviewProxy | undefined;
  readonly zones: readonly string[];
  /**
   * Zone in which the ports of sandboxes and E2B's API have hosts.
   * @default - they have none
   */
  readonly e2bZone?: string | undefined;
  /** Whether the API answers to a Host header. */
  readonly isKnownHost: (hostHeader: string) => boolean;
  /** The public origin of Porthole, if it differs from the Host that arrives here. */
  readonly publicOrigin?: string | undefined;
  /** Speaks TLS with it; undefined: plain HTTP. */
  readonly certificate?: ServerCertificate | undefined;
  /** Serves the functions. */
  readonly api: RequestListener;
}

const UNKNOWN_HOST =
  'This Host is not served here. Use localhost, or name the host in PORTHOLE_ALLOWED_HOSTS or PORTHOLE_PUBLIC_URL.';

/**
 * The one server that faces clients. Dispatches by Host to the preview gateway or the functions,
 * and refuses unknown hosts.
 */
export function createFront({
  gateway,
  zones,
  e2bZone,
  isKnownHost,
  publicOrigin,
  certificate,
  api,
}: FrontOptions): Server {
  /**
   * The token of a preview host, or the host itself if it has a name or is that of a port; the
   * empty string for another host of the zone.
   */
  const previewKey = (host: string): string | undefined => {
    if (gateway === undefined) return undefined;
    if (e2bZone !== undefined) {
      const port = parsePortHost(host, e2bZone);
      if (port !== undefined) return portHost(port, e2bZone);
    }
    const preview = parsePreviewHost(host, ...zones);
    if (preview.kind === 'foreign') return undefined;
    if (preview.kind === 'named') return previewHost(preview.name, preview.zone);
    return preview.kind === 'token' ? preview.token : '';
  };
  const handlers: FrontHandlers = {
    request(req, res, expectsContinue) {
      const host = req.headers.host ?? '';
      const isOfE2b = e2bZone !== undefined && !isKnownHost(host) && leadToE2bPath(req, e2bZone);
      const key = isOfE2b ? undefined : previewKey(host);
      if (key !== undefined) return gateway?.handleRequest(req, res, key, expectsContinue);
      if (!isOfE2b && !isKnownHost(host)) return refuse(res, 'unknown_host', UNKNOWN_HOST);
      if (expectsContinue) res.writeContinue();
      api(req, res);
    },
    cookiesTooLarge(req, res) {
      const isOfPreview = previewKey(req.headers.host ?? '') !== undefined;
      if (isOfPreview) answerWithPage(req, res, 'cookies_too_large', {}, true);
      return isOfPreview;
    },
    upgrade(req, socket, head) {
      const host = req.headers.host ?? '';
      const key = previewKey(host);
      if (key !== undefined) return gateway?.handleUpgrade(req, socket, head, key);
      if (!isKnownHost(host)) return refuseUpgrade(socket, 'unknown_host', UNKNOWN_HOST);
      // CSRF: WebSockets have no CORS, so the Origin is checked here for every handshake.
      const foreign = originError(req.headers as Record<string, string | undefined>, { publicOrigin });
      if (foreign !== undefined) return refuseUpgrade(socket, foreign.code, foreign.message);
      api(req, new HandshakeResponse(req, socket, head));
    },
  };
  return createStrictServer(handlers, strictServerOptions, certificate);
}
