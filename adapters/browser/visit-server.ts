import type { KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { PortholeError } from '#base/errors.ts';
import type { PageBrowser } from '#core/pages/page-browser.ts';
import { readAtMost } from '#base/reads.ts';
import { readPublicKey, verifyGuestToken } from '#protocol/guest/guest-pod.ts';
import {
  contentDigest,
  MAX_OBSERVATION_BYTES,
  MAX_VISIT_BYTES,
  visitClaims,
  VisitRequestSchema,
  VISITS_PATH,
} from './visit-protocol.ts';

export interface VisitServerOptions {
  readonly pages: PageBrowser;
  /** Public keys of the functions, separated by commas. */
  readonly publicKeys: string;
  /** Called with the reason of a request that failed or was refused. */
  readonly failed: (reason: string) => void;
  /** @default the system's */
  readonly now?: () => Date;
}

const MAX_CONNECTIONS = 256;
/** A request has arrived in full within this time, in milliseconds. */
const REQUEST_MS = 10_000;
const MAX_HEADER_BYTES = 8_192;
const BUSY_SECONDS = 5;

/** Refuses a request with this status. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Serves visits over HTTP to the functions, which sign each request. Has only their public keys:
 * a page that takes over the browser can sign nothing.
 */
export function createVisitServer(options: VisitServerOptions): Server {
  const { pages, publicKeys, failed, now = () => new Date() } = options;
  const keys = publicKeys.split(',').map(readPublicKey);
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS },
    (request, response) => {
      answer(request, response).catch((error: unknown) => {
        const { status, message } = refusalOf(error);
        failed(message);
        reply(response, status, { error: message });
      });
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  return server;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url } = request;
    if (method === 'GET' && url === '/health') return reply(response, 200, { ok: true });
    if (method !== 'POST' || url !== VISITS_PATH) throw new Refusal(404, 'No such operation');
    const digest = authorizedDigest(request, keys, now());
    const body = await readBody(request);
    if (contentDigest(body) !== digest) throw new Refusal(401, 'The body is not the signed one');
    const { owner, visit } = readVisit(body);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      const seen = JSON.stringify(await pages.observe(visit, owner, gone.signal));
      if (Buffer.byteLength(seen) > MAX_OBSERVATION_BYTES) throw new Refusal(502, 'The answer is too large');
      reply(response, 200, seen);
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    }
  }
}

/** Before a byte of the body is read: a stranger costs one signature check. */
function authorizedDigest(request: IncomingMessage, keys: readonly KeyObject[], now: Date): string {
  const { authorization = '', 'content-digest': digest } = request.headers;
  const [scheme, token = ''] = authorization.split(' ');
  const isValid =
    scheme === 'Bearer' &&
    typeof digest === 'string' &&
    verifyGuestToken(token, keys, visitClaims(digest), now);
  if (!isValid) throw new Refusal(401, 'The request is not signed by the functions');
  return digest;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const tooLarge = () => new Refusal(413, `The request is larger than ${MAX_VISIT_BYTES} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > MAX_VISIT_BYTES) throw tooLarge();
  const body = await readAtMost(request, MAX_VISIT_BYTES);
  if (body === undefined) throw tooLarge();
  return body;
}

function readVisit(body: Buffer) {
  try {
    return VisitRequestSchema.parse(JSON.parse(body.toString()));
  } catch {
    // The problem may quote the page's address, which is a capability.
    throw new Refusal(400, 'The body is not a visit');
  }
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof PortholeError) return new Refusal(error.status, error.message);
  return new Refusal(500, error instanceof Error ? error.message : 'Unknown failure');
}

/** A refusal ends the connection, and with it a body that was not read. */
function reply(response: ServerResponse, status: number, body: object | string): void {
  if (response.destroyed || response.headersSent) return;
  const payload = typeof body === 'string' ? body : JSON.stringify(body);
  if (status === 429) response.setHeader('retry-after', BUSY_SECONDS);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(payload),
    connection: 'close',
  });
  response.end(payload);
}
