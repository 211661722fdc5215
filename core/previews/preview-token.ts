import { createHash } from 'node:crypto';
import { PREVIEW_WORDS, TOKEN_SUFFIX_LENGTH } from '#protocol/preview-words.ts';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const HOST_SUFFIX = '-preview';
/** Maximum length of a DNS label (RFC 1035 §2.3.4). */
const MAX_LABEL = 63;

/**
 * `word-word-word-` + 26 characters of lower-case base32, from a 32-byte MAC: the first 16 bytes
 * are the secret part, the next three choose the words.
 */
export function formatPreviewToken(mac: Uint8Array): string {
  if (mac.length < 19) throw new RangeError(`a preview token needs 19 bytes of MAC, got ${mac.length}`);
  const words = [16, 17, 18].map((at) => PREVIEW_WORDS[(mac[at] as number) % PREVIEW_WORDS.length]);
  return `${words.join('-')}-${base32(mac.subarray(0, 16))}`;
}

/** Lower-case RFC 4648 base32 without padding. */
export function base32(bytes: Uint8Array): string {
  let out = '';
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      out += BASE32[(buffer >> bits) & 31];
    }
    buffer &= (1 << bits) - 1;
  }
  return bits > 0 ? out + BASE32[(buffer << (5 - bits)) & 31] : out;
}

/**
 * Whether a text is accepted as a token: `[a-z0-9-]`, one label together with `-preview`.
 * Deliberately wider than minted tokens, because the reference's own example has 0, 1, 8 and 9 in
 * its suffix.
 */
export function isPreviewToken(text: string): boolean {
  return (
    text.length > TOKEN_SUFFIX_LENGTH &&
    text.length + HOST_SUFFIX.length <= MAX_LABEL &&
    /^[a-z0-9][a-z0-9-]*[a-z0-9]$/.test(text)
  );
}

/** `{token}-preview.{zone}` */
export function previewHost(token: string, zone: string): string {
  return `${token}${HOST_SUFFIX}.${zone}`;
}

/** Maximum length of a name that an owner gives: texts of this length are no tokens. */
export const MAX_NAME_LENGTH = TOKEN_SUFFIX_LENGTH;

/** Whether a text has the form of a name that an owner gives: a DNS label that is no token. */
export function isGivenName(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && /^[a-z][a-z0-9-]+[a-z0-9]$/.test(text);
}

/** What follows the first label of a preview's host. */
export function zoneOfHost(hostname: string): string {
  return hostname.slice(hostname.indexOf('.') + 1);
}

export type PreviewHost =
  | { readonly kind: 'token'; readonly token: string }
  /** By a name that an owner may have given. */
  | { readonly kind: 'named'; readonly name: string; readonly zone: string }
  | { readonly kind: 'invalid' }
  | { readonly kind: 'foreign' };

/**
 * Parses a Host header: a token, a name, another host of a zone (`invalid`), or a host outside the
 * zones (`foreign`). Case and port are ignored; a trailing dot is not.
 */
export function parsePreviewHost(host: string, ...zones: readonly string[]): PreviewHost {
  const hostname = host.replace(/:\d{1,5}$/, '').toLowerCase();
  const zone = zones.find((each) => hostname.endsWith(`${HOST_SUFFIX}.${each}`));
  if (zone === undefined) return { kind: 'foreign' };
  const label = hostname.slice(0, -`${HOST_SUFFIX}.${zone}`.length);
  if (isPreviewToken(label)) return { kind: 'token', token: label };
  return isGivenName(label) ? { kind: 'named', name: label, zone } : { kind: 'invalid' };
}

/** Whether a text has the form of `previewName`. */
export function isPreviewName(text: string): boolean {
  return /^preview-[0-9a-f]{20}$/.test(text);
}

/** 64 hex digits: the key of tombstones. */
export function tokenSha256(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** The name of a token's objects: `preview-` + 20 hex digits (80 bits) of its sha256. */
export function previewName(token: string): string {
  return `preview-${tokenSha256(token).slice(0, 20)}`;
}

/** The form of a token for logs: 8 hex digits of its sha256. */
export function tokenFingerprint(token: string): string {
  return tokenSha256(token).slice(0, 8);
}
