/** What the functions sign about a visitor, and what the process that serves a preview verifies. */
import type { KeyObject } from 'node:crypto';
import * as z from 'zod/mini';
import { publicKeyText, readJwt, readPublicKey, signJwt } from './guest-pod.ts';

/** `enter`: valid once, for a browser. `pass`: for each request of a program. */
export type TicketKind = 'enter' | 'pass';

const TYPES = { enter: 'porthole-ticket+jwt', pass: 'porthole-pass+jwt' } as const;
const VIEWER = 'porthole-viewer+jwt';

/** Longest time between the signature of a ticket and its use, in milliseconds. */
export const TICKET_MS = 60_000;
/** How long a program may use its pass, in milliseconds. */
export const PASS_MS = 600_000;

/** One visitor of one preview; times in milliseconds since 1970. */
export interface VisitTicket {
  /** Host header of the preview for which it is valid. */
  readonly host: string;
  readonly id: string;
  readonly expiresAt: number;
  /** When the visit ends at the latest. */
  readonly until: number;
  readonly epoch: number;
  /** A user, or a pseudonym that differs for each preview. */
  readonly viewer: string;
  /** The access level by which the visitor may pass. */
  readonly level: string;
  readonly link?: string | undefined;
}

const seconds = z.number().check(z.gte(0));
const claims = z.object({
  aud: z.string(),
  jti: z.string().check(z.maxLength(64)),
  exp: seconds,
  until: seconds,
  epoch: z.int(),
  sub: z.string().check(z.maxLength(320)),
  link: z.optional(z.string().check(z.maxLength(64))),
  /** Not in tickets of earlier versions. */
  level: z.optional(z.string().check(z.maxLength(32))),
  about: z.string(),
});

/** A JWT (RFC 7519) of Ed25519 (RFC 8037). */
export function signTicket(key: KeyObject, kind: TicketKind, ticket: VisitTicket): string {
  const { host, id, expiresAt, until, epoch, viewer, level, link } = ticket;
  const common = { aud: host, sub: viewer };
  const ends = Math.floor(until / 1_000);
  return signJwt(key, TYPES[kind], {
    ...common,
    jti: id,
    exp: Math.floor(expiresAt / 1_000),
    until: ends,
    epoch,
    link,
    level,
    // The app gets this part alone: it lets no one enter.
    about: signJwt(key, VIEWER, { ...common, level, exp: ends }, kidOf(publicKeyText(key))),
  });
}

/** The keys of an open preview, which are text. */
export function readTicketKeys(keys: readonly string[]): readonly KeyObject[] {
  return keys.map(readPublicKey);
}

/** The public keys as a JWK set (RFC 7517, RFC 8037), for apps that verify who visits them. */
export function viewerKeys(keys: readonly string[]) {
  const constant = { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' } as const;
  return { keys: keys.map((x) => ({ ...constant, kid: kidOf(x), x })) };
}

/** Tells the keys of one set apart. */
function kidOf(publicKey: string): string {
  return publicKey.slice(0, 16);
}

/** Undefined unless one of the keys signed it as this kind. The reader checks times and host. */
export function readTicket(keys: readonly KeyObject[], kind: TicketKind, token: string) {
  const { success, data } = z.safeParse(claims, readJwt(token, TYPES[kind], keys));
  if (!success) return undefined;
  const { aud: host, jti: id, exp, until, epoch, sub: viewer, link, level, about } = data;
  return { host, id, expiresAt: exp * 1_000, until: until * 1_000, epoch, viewer, link, level, about };
}
