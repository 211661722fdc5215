import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FrontHandlers } from '../../proxy/front/strict-server.ts';
import { AccessGate, openUrl } from '../../proxy/access/access-gate.ts';
import { readTicket, readTicketKeys } from '../../protocol/guest/visit-tickets.ts';
import { createPreviewProxy } from '../../proxy/preview-proxy.ts';
import { clientAddress, NO_PROXIES } from '../../proxy/client-address.ts';
import type { PreviewLookup, PreviewTarget } from '../../proxy/preview-target.ts';
import { answerWithPage } from '../../proxy/status-answer.ts';
import type { PreviewStatus } from '../../proxy/status-page.ts';
import { PREVIEW_PORT_HEADER } from '../../protocol/guest/previews-protocol.ts';
import { hostnameOf, type OpenPreview, type OpenPreviews } from './open-previews.ts';

/** Handlers behind the strict front. */
export interface PreviewListener extends FrontHandlers {
  /** Ends the connections of visitors who may no longer pass to a preview. */
  limit(port: number, host: string): void;
  /** Ends every connection of a closed preview. */
  revoke(port: number, host: string): void;
  /** Waits up to `drainMs` for requests, then destroys everything. */
  close(drainMs?: number): Promise<void>;
}

const PORT_HEADER = PREVIEW_PORT_HEADER.toLowerCase();
/** The addresses that a gateway lists in X-Forwarded-For. */
const ADDRESSES = /^[\da-f.:, [\]]{2,300}$/i;

const nothing = (): void => undefined;

/**
 * Serves previews for the gateway with the local gateway's proxy. A request is served only if the
 * functions have opened a preview for its Host, and its route has set the port of that preview.
 * @param dial a byte stream to 127.0.0.1 or ::1; rejects with the system's error
 */
export function createPreviewListener(
  previews: OpenPreviews,
  dial: (port: number) => Promise<Duplex>,
): PreviewListener {
  /** Read once for each preview: a pass comes with each request of a program. */
  const ticketKeys = new WeakMap<OpenPreview['request'], ReturnType<typeof readTicketKeys>>();
  const gate = new AccessGate({
    read: (kind, ticket, { token }) => {
      const request = previews.find(hostOf(token))?.request;
      if (request?.access === undefined) return undefined;
      const keys = ticketKeys.get(request) ?? readTicketKeys(request.access.keys);
      ticketKeys.set(request, keys);
      return readTicket(keys, kind, ticket);
    },
    openUrl({ token, namedHost }, path) {
      const { access } = previews.find(hostOf(token))?.request ?? {};
      return access && openUrl(access.open_url, namedHost ?? access.name, path);
    },
    now: Date.now,
  });
  const proxy = createPreviewProxy({
    gate,
    lookup: (key) => lookUp(previews, key),
    async dial({ targetPort }, signal) {
      const stream = await dial(targetPort);
      if (!signal.aborted) return stream;
      stream.destroy();
      throw signal.reason;
    },
    dialFailure,
    clientAddress: visitorAddress,
    visitor(_req, { token, namedHost }) {
      const { host: audience = '', access } = previews.find(hostOf(token))?.request ?? {};
      const host = namedHost === undefined ? audience : (access?.named_host ?? '');
      return { scheme: 'https', host, audience };
    },
    touched({ token }) {
      const preview = previews.find(hostOf(token));
      if (preview !== undefined) preview.lastUsedAt = performance.now();
    },
    frameAncestors: ({ token }) => previews.find(hostOf(token))?.request.frame_ancestors ?? [],
    siblings: ({ runId, namedHost }) => ({
      portOf(hostname) {
        // At a host by name no other name is a sibling: a preflight would tell whether it exists.
        const isNamed = namedHost !== undefined;
        const other = previews.find(hostname) ?? (isNamed ? undefined : previews.findNamed(hostname));
        return other !== undefined && isSibling(other, runId) ? other.port : undefined;
      },
      hostOf(port) {
        const other = findOfRun(previews, runId, port);
        return other && hostnameOf(other.request.host);
      },
      targetOf(port) {
        const other = findOfRun(previews, runId, port);
        return other && targetOf(other);
      },
    }),
    reportContact(key) {
      const host = hostOf(key);
      return (previews.find(host) ?? previews.findNamed(host))?.request.report_contact;
    },
    fingerprint: (key) => createHash('sha256').update(key).digest('hex').slice(0, 8),
    log: { debug: nothing, warn: nothing },
    metrics: {
      answered: nothing,
      upgrades: nothing,
      bytes: (fromClient, toClient, { token }) => previews.count(hostOf(token), fromClient, toClient),
    },
  });
  return {
    request: (req, res, expectsContinue) => proxy.handleRequest(req, res, keyOf(req), expectsContinue),
    cookiesTooLarge(req, res) {
      answerWithPage(req, res, 'cookies_too_large', {}, true);
      return true;
    },
    upgrade: (req, socket, head) => proxy.handleUpgrade(req, socket, head, keyOf(req)),
    limit(port, host) {
      const token = `${port} ${hostnameOf(host)}`;
      proxy.limit({ token, access: previews.find(hostnameOf(host))?.request.access });
    },
    revoke: (port, host) => proxy.revoke({ token: `${port} ${hostnameOf(host)}` }),
    close: (drainMs) => proxy.close(drainMs),
  };
}

/** `{port} {host name}`: the proxy's key of a preview. */
function keyOf({ headers }: IncomingMessage): string {
  return `${String(headers[PORT_HEADER] ?? '')} ${hostnameOf(headers.host ?? '')}`;
}

function hostOf(key: string): string {
  return key.slice(key.indexOf(' ') + 1);
}

function lookUp(previews: OpenPreviews, key: string): PreviewLookup {
  const host = hostOf(key);
  const own = previews.find(host);
  const preview = own ?? previews.findNamed(host);
  if (preview === undefined || !key.startsWith(`${preview.port} `)) return { kind: 'unknown' };
  if (preview.closed) return { kind: 'ended', reason: 'stopped' };
  if (Date.now() >= Date.parse(preview.request.expires_at)) return { kind: 'ended', reason: 'expired' };
  const target = targetOf(preview);
  return { kind: 'live', target: own === undefined ? { ...target, namedHost: host } : target };
}

function targetOf({
  port,
  request: { host, run, access, maps_localhost: mapsLocalhost },
}: OpenPreview): PreviewTarget {
  return {
    token: `${port} ${hostnameOf(host)}`,
    runId: run,
    sandboxId: '',
    targetPort: port,
    access,
    mapsLocalhost,
  };
}

function findOfRun(previews: OpenPreviews, runId: string, port: number): OpenPreview | undefined {
  return previews.all().findLast((each) => each.port === port && isSibling(each, runId));
}

function isSibling({ closed, request }: OpenPreview, runId: string): boolean {
  return !closed && request.run === runId && Date.now() < Date.parse(request.expires_at);
}

function dialFailure(error: unknown): PreviewStatus {
  return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'nothing_listens' : 'unreachable';
}

/** The gateway's own list if it sends one: only the gateway reaches this port. */
function visitorAddress(req: IncomingMessage): string {
  const forwarded = String(req.headers['x-forwarded-for'] ?? '');
  return ADDRESSES.test(forwarded) ? forwarded : clientAddress(req, NO_PROXIES);
}
