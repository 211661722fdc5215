import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TRAFFIC_HEADER } from '../preview-headers.ts';
import type { AccessPolicy, PreviewTarget } from '../preview-target.ts';

/** What the functions have signed about one visitor of one preview. */
export interface TicketClaims {
  /** Host header of the preview for which it is valid. */
  readonly host: string;
  readonly id: string;
  /** When it can no longer be used, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** When the visit that it begins ends at the latest, likewise. */
  readonly until: number;
  readonly epoch: number;
  /** The link by which the visitor came. */
  readonly link?: string | undefined;
  /**
   * The access level by which the visitor may pass.
   * @default - none that opens another preview: a ticket of an earlier version
   */
  readonly level?: string | undefined;
  /** What the app is sent about the visitor: a JWT that only the functions can sign. */
  readonly about: string;
}

export interface AccessGateDeps {
  /**
   * The claims of a ticket (`enter`) or of a program's pass (`pass`) that the functions have
   * signed; undefined for any other text. Does not check times, host or epoch.
   */
  readonly read: (kind: 'enter' | 'pass', ticket: string, target: PreviewTarget) => TicketClaims | undefined;
  /** Where a person who requested the path signs in; undefined: nowhere. */
  readonly openUrl: (target: Pick<PreviewTarget, 'token' | 'namedHost'>, path: string) => string | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export type AccessDecision =
  | {
      readonly kind: 'passes';
      readonly visit?: Visit;
      /** Whether a browser has added what lets the visitor pass, by itself. */
      readonly byCookie?: boolean;
      readonly setCookie?: string;
    }
  /** A person may sign in there. */
  | { readonly kind: 'opens'; readonly location: string }
  | { readonly kind: 'refused' };

/** One visitor of one preview. */
export interface Visit {
  readonly epoch: number;
  readonly link: string | undefined;
  readonly level: string | undefined;
  readonly about: string | undefined;
  /** When it ends at the latest, in milliseconds since 1970, as below. */
  readonly until: number;
  /** When it ends unless another request comes. */
  lastsUntil: number;
  /** When its cookie was last sent. */
  sentAt: number;
}

/**
 * `__Host-`: no sibling host can set or overwrite it (RFC 6265bis section 4.1.3.2). `Partitioned`
 * and `SameSite=None`: the console shows previews in frames.
 */
const VISIT_COOKIE = '__Host-porthole-view';
/** The same as the header, for browsers that Porthole drives. */
export const PASS_COOKIE = '__Host-porthole-pass';
const PASS_HEADER = 'x-porthole-pass';
/**
 * How long a visit lasts without a request, in milliseconds. Long enough for a page that is read
 * and then used again; revocation does not wait for it.
 */
const IDLE_MS = 3_600_000;
/** When the cookie of a visit is sent again, in milliseconds. */
const RENEW_MS = 300_000;
/** Tolerated difference between the clocks of functions and guests, in milliseconds. */
const SKEW_MS = 60_000;
/** Used tickets of one preview. */
const MAX_USED = 10_000;
/** Visits of one preview by links, and as many by each level. */
const MAX_VISITS = 1_000;

/** What is known of one preview. */
interface PreviewMemory {
  /** By the value of their cookie. */
  readonly visits: Map<string, Visit>;
  /** Ids of used tickets, and when they may be forgotten. */
  readonly used: Map<string, number>;
}

/**
 * Lets visitors with a visit pass to previews that are not open to everyone. A visit begins with a
 * ticket of the functions, which is valid once, and lives in the memory of the process that serves
 * the preview: after a restart browsers enter again by themselves.
 */
export class AccessGate {
  readonly #deps: AccessGateDeps;
  /** By token: what happens at one preview displaces nothing of another. */
  readonly #previews = new Map<string, PreviewMemory>();

  constructor(deps: AccessGateDeps) {
    this.#deps = deps;
  }

  decide(req: IncomingMessage, target: PreviewTarget, audience: string): AccessDecision {
    const { access } = target;
    if (!isLimited(access)) return { kind: 'passes' };
    if (hasTrafficToken(req, target)) return { kind: 'passes', visit: programVisit(access) };
    const found = this.#visitOf(req.headers.cookie, target.token, access);
    if (found !== undefined) {
      const [id, visit] = found;
      const now = this.#deps.now();
      visit.lastsUntil = Math.min(now + IDLE_MS, visit.until);
      if (now - visit.sentAt < RENEW_MS) return { kind: 'passes', visit, byCookie: true };
      visit.sentAt = now;
      return { kind: 'passes', visit, byCookie: true, setCookie: cookie(id) };
    }
    const header = req.headers[PASS_HEADER];
    const [pass] = typeof header === 'string' ? [header] : cookiesNamed(req.headers.cookie, PASS_COOKIE);
    const claims = pass === undefined ? undefined : this.#deps.read('pass', pass, target);
    if (claims !== undefined && this.#isValid(claims, access, audience)) {
      const visit = visitOf(claims, this.#deps.now());
      return { kind: 'passes', visit, byCookie: header === undefined };
    }
    // A cookie that is not valid may be the app's: it must not lock its visitors out.
    if (header !== undefined) return { kind: 'refused' };
    const location = isNavigation(req) ? this.#deps.openUrl(target, req.url ?? '/') : undefined;
    return location === undefined ? { kind: 'refused' } : { kind: 'opens', location };
  }

  /** The origin of the page at which visitors of a preview sign in. */
  pageOrigin(target: PreviewTarget): string | undefined {
    return URL.parse(this.#deps.openUrl(target, '/') ?? '')?.origin;
  }

  /** Where a person who opens a preview that does not exist is sent, as for one that does. */
  hide(req: IncomingMessage, token: string): string | undefined {
    return isNavigation(req) ? this.#deps.openUrl({ token }, req.url ?? '/') : undefined;
  }

  /**
   * Where a person who opens a stopped preview may start it. Only browsers that say so: a program
   * that follows links gets the page that it got before.
   */
  wake(req: IncomingMessage, token: string): string | undefined {
    return isOpened(req) ? this.hide(req, token) : undefined;
  }

  /**
   * Begins a visit.
   * @returns the visitor's `Set-Cookie`, `open` if no visit is needed, undefined if the ticket is
   * not valid
   */
  enter(
    ticket: string,
    target: PreviewTarget,
    audience: string,
  ): { readonly cookie: string } | 'open' | undefined {
    const { access, token } = target;
    if (!isLimited(access)) return 'open';
    const claims = this.#deps.read('enter', ticket, target);
    if (claims === undefined || !this.#isValid(claims, access, audience)) return undefined;
    const memory = this.#memoryOf(token);
    if (!this.#use(claims, memory)) return undefined;
    const id = randomBytes(32).toString('base64url');
    const visit = visitOf(claims, this.#deps.now());
    memory.visits.set(id, visit);
    forgetOldest(memory.visits, visit);
    return { cookie: cookie(id) };
  }

  /** Whether a visit may go on: asked again for requests that last, such as WebSockets. */
  isAllowed(visit: Visit | undefined, access: AccessPolicy | undefined): boolean {
    if (!isLimited(access)) return true;
    if (visit === undefined || visit.epoch !== access.epoch) return false;
    return !this.isOver(visit) && (visit.link === undefined || !access.revoked.includes(visit.link));
  }

  /** Whether the visitor of one preview may pass to another of the same run. */
  reaches(visit: Visit | undefined, access: AccessPolicy | undefined): boolean {
    return !isLimited(access) || (REACHED[visit?.level ?? ''] ?? []).includes(access.level);
  }

  isOver(visit: Visit): boolean {
    return visit.until <= this.#deps.now();
  }

  #isValid(claims: TicketClaims, access: AccessPolicy, audience: string): boolean {
    const now = this.#deps.now();
    return (
      claims.host === audience.toLowerCase() &&
      claims.epoch === access.epoch &&
      claims.expiresAt + SKEW_MS > now &&
      claims.until > now &&
      (claims.link === undefined || !access.revoked.includes(claims.link))
    );
  }

  /** Drops those of previews without visits and used tickets: previews end, and tokens change. */
  #memoryOf(token: string): PreviewMemory {
    const known = this.#previews.get(token);
    if (known !== undefined) return known;
    for (const [other, memory] of this.#previews) {
      this.#forgetEnded(memory);
      if (memory.visits.size === 0 && memory.used.size === 0) this.#previews.delete(other);
    }
    const memory: PreviewMemory = { visits: new Map(), used: new Map() };
    this.#previews.set(token, memory);
    return memory;
  }

  #forgetEnded({ visits, used }: PreviewMemory): void {
    const now = this.#deps.now();
    for (const [id, { lastsUntil }] of visits) if (lastsUntil <= now) visits.delete(id);
    for (const [id, until] of used) if (until <= now) used.delete(id);
  }

  /** False if the ticket was used, or if more are in use than can be remembered. */
  #use({ id, expiresAt }: TicketClaims, { used }: PreviewMemory): boolean {
    const now = this.#deps.now();
    for (const [other, until] of used) {
      if (until > now) break;
      used.delete(other);
    }
    if (used.has(id) || used.size >= MAX_USED) return false;
    used.set(id, expiresAt + SKEW_MS);
    return true;
  }

  /**
   * The visit of the only cookie that has one. An app may set another cookie of this name at its
   * host: it must not lock its visitors out.
   */
  #visitOf(header: string | undefined, token: string, access: AccessPolicy): [string, Visit] | undefined {
    const visits = this.#previews.get(token)?.visits;
    if (visits === undefined) return undefined;
    const found = cookiesNamed(header, VISIT_COOKIE).flatMap((id): [string, Visit][] => {
      const visit = visits.get(id);
      return visit === undefined ? [] : [[id, visit]];
    });
    const [[id, visit] = []] = found;
    if (id === undefined || visit === undefined || found.length > 1) return undefined;
    if (visit.lastsUntil > this.#deps.now() && this.isAllowed(visit, access)) return [id, visit];
    visits.delete(id);
    return undefined;
  }
}

/**
 * Whether a policy was decided before the one that is known: calls of several functions may
 * overtake each other, and a revoked link must stay revoked.
 */
export function isOutdated(next: AccessPolicy | undefined, known: AccessPolicy | undefined): boolean {
  const { epoch, revoked } = next ?? OPEN;
  const { epoch: knownEpoch, revoked: knownRevoked } = known ?? OPEN;
  return epoch < knownEpoch || (epoch === knownEpoch && revoked.length < knownRevoked.length);
}

const OPEN: AccessPolicy = { level: 'link', epoch: 0, revoked: [] };

/**
 * The levels that a person satisfies who has shown to satisfy one. Another preview may have another
 * password, and a link is for one preview.
 */
const REACHED: Readonly<Record<string, readonly string[]>> = {
  owner: ['owner', 'org', 'signed_in', 'password'],
  org: ['org', 'signed_in'],
  signed_in: ['signed_in'],
};

function isLimited(access: AccessPolicy | undefined): access is AccessPolicy {
  return access !== undefined && access.level !== OPEN.level;
}

/** In constant time for texts of one length, which is no secret. */
function hasTrafficToken({ headers }: IncomingMessage, { trafficToken }: PreviewTarget): boolean {
  const header = headers[TRAFFIC_HEADER];
  if (trafficToken === undefined || typeof header !== 'string') return false;
  const [given, wanted] = [Buffer.from(header), Buffer.from(trafficToken)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Of a program with the token of the sandbox. The app learns nothing about it. */
function programVisit({ epoch }: AccessPolicy): Visit {
  const ends = { until: Infinity, lastsUntil: Infinity };
  return { epoch, link: undefined, level: 'owner', about: undefined, ...ends, sentAt: 0 };
}

function visitOf({ epoch, link, level, about, until }: TicketClaims, now: number): Visit {
  return { epoch, link, level, about, until, lastsUntil: Math.min(now + IDLE_MS, until), sentAt: now };
}

/**
 * Drops the visit that was not used for the longest time, of those that came the same way: any
 * number of strangers with a link displace no person who has signed in.
 */
function forgetOldest(visits: Map<string, Visit>, added: Visit): void {
  let count = 0;
  let oldest: string | undefined;
  let lastsUntil = Infinity;
  for (const [id, visit] of visits) {
    const isAlike = (visit.link === undefined) === (added.link === undefined) && visit.level === added.level;
    if (!isAlike) continue;
    count += 1;
    if (visit.lastsUntil >= lastsUntil) continue;
    oldest = id;
    ({ lastsUntil } = visit);
  }
  if (count > MAX_VISITS && oldest !== undefined) visits.delete(oldest);
}

function cookie(id: string): string {
  return `${VISIT_COOKIE}=${id}; Path=/; Max-Age=${IDLE_MS / 1_000}; Secure; HttpOnly; SameSite=None; Partitioned`;
}

/**
 * Only spaces and tabs are trimmed: browsers do not treat a name after other white space as
 * `__Host-`.
 */
function cookiesNamed(header: string | undefined, name: string): readonly string[] {
  if (header === undefined || !header.includes(name)) return [];
  return header
    .split(';')
    .map((each) => each.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, ''))
    .filter((each) => each.startsWith(`${name}=`))
    .map((each) => each.slice(name.length + 1));
}

/** The page in a frame cannot sign in: the page that it would be sent to refuses frames. */
const FRAMES: ReadonlySet<unknown> = new Set(['iframe', 'frame', 'embed', 'object']);

/** A page that a person opens: no prefetch and no program. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET' || headers['sec-purpose'] !== undefined || headers['purpose'] !== undefined)
    return false;
  const mode = headers['sec-fetch-mode'];
  if (mode === undefined) return (headers.accept ?? '').includes('text/html');
  return mode === 'navigate' && !FRAMES.has(headers['sec-fetch-dest']);
}

/** Only by browsers that say so: a program that follows links is none. */
export function isOpened(req: IncomingMessage): boolean {
  return req.headers['sec-fetch-mode'] !== undefined && isNavigation(req);
}

/**
 * @param preview the host by name at which it was requested, or the name of its objects: the URL of
 * another host must not contain its token
 */
export function openUrl(page: string, preview: string, path: string): string {
  // In the fragment: no server needs it, so no log gets it.
  return `${page}?preview=${preview}#path=${encodeURIComponent(path)}`;
}
