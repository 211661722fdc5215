import type { IncomingMessage, ServerResponse } from 'node:http';
import { ownPath } from '../own-path.ts';
import { type PreviewView, siblingPort } from '../preview-headers.ts';
import type { PreviewTarget } from '../preview-target.ts';
import { dropRest } from '../status-answer.ts';
import type { AccessGate } from './access-gate.ts';

/** A ticket and a path, in bytes. */
const MAX_FORM = 16 * 1024;
const MAX_PATH = 4 * 1024;
/** How long the form may take, in milliseconds. */
const FORM_MS = 10_000;

/**
 * Begins the visit of a browser, which posts a form with `ticket` and `path`, and sends it to the
 * path that it requested first.
 * @returns false if the ticket is not valid: nothing is answered yet
 */
export async function enter(
  gate: AccessGate,
  {
    req,
    res,
    target,
    audience,
    origins,
  }: {
    readonly req: IncomingMessage;
    readonly res: ServerResponse;
    readonly target: PreviewTarget;
    readonly audience: string;
    /** Of the pages that bring tickets: `/open` and the console. */
    readonly origins: readonly (string | undefined)[];
  },
): Promise<boolean> {
  // Login CSRF: any other page could make this browser the visitor of someone else's ticket.
  const { origin } = req.headers;
  const mayEnter = origin === undefined || origins.includes(origin);
  const form = req.method === 'POST' && mayEnter ? await readForm(req) : undefined;
  const entered = form && gate.enter(form.get('ticket') ?? '', target, audience);
  if (entered === undefined) return false;
  res.writeHead(303, {
    ...PRIVATE,
    Location: localPath(form?.get('path')),
    ...(entered !== 'open' && { 'Set-Cookie': entered.cookie }),
  });
  res.end();
  return true;
}

const PRIVATE = {
  'Cache-Control': 'no-store',
  'Content-Length': 0,
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex, nofollow',
};

/** Sends a person to where they sign in. */
export function sendAway(req: IncomingMessage, res: ServerResponse, location: string): void {
  res.writeHead(303, { ...PRIVATE, Location: location, 'X-Porthole-Status': 'access_required' });
  res.end();
  dropRest(req);
}

/**
 * Answers the preflight request of a page of a sibling preview (Fetch standard section 4.8), which
 * browsers send without cookies: the app decides about the request that follows.
 */
export function answerPreflight(req: IncomingMessage, res: ServerResponse, view: PreviewView): boolean {
  const { origin, 'access-control-request-method': method } = req.headers;
  if (req.method !== 'OPTIONS' || method === undefined || origin === undefined) return false;
  if (siblingPort(origin, view) === undefined) return false;
  const asked = req.headers['access-control-request-headers'];
  res.writeHead(204, {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Allow-Methods': method,
    ...(asked !== undefined && { 'Access-Control-Allow-Headers': asked }),
    'Cache-Control': 'no-store',
    Vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
  });
  res.end();
  dropRest(req);
  return true;
}

/** A path of the same host (no open redirect), and of an app. */
function localPath(path: string | null | undefined): string {
  const isLocal = path != null && path.length <= MAX_PATH && /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(path);
  if (!isLocal) return '/';
  return !path.startsWith('/.porthole/') || ownPath(path)?.kind === 'sibling' ? path : '/';
}

/** Undefined if it is too large or too slow, or its client is gone. */
function readForm(req: IncomingMessage): Promise<URLSearchParams | undefined> {
  const { promise, resolve } = Promise.withResolvers<URLSearchParams | undefined>();
  const parts: Buffer[] = [];
  let bytes = 0;
  req.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes <= MAX_FORM) parts.push(part);
    else resolve(undefined);
  });
  req.on('end', () => resolve(new URLSearchParams(Buffer.concat(parts).toString())));
  req.on('error', () => resolve(undefined));
  req.on('close', () => resolve(undefined));
  const timer = setTimeout(() => resolve(undefined), FORM_MS);
  return promise.finally(() => clearTimeout(timer));
}
