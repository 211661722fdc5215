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

/**
 * Parses a Host header: a token, a host of a zone that is not a token (`invalid`), or a host
 * outside the zones (`foreign`). Case and port are ignored; a trailing dot is not.
 */
export function parsePreviewHost(
  host: string,
  ...zones: readonly string[]
): { kind: 'token'; token: string } | { kind: 'invalid' } | { kind: 'foreign' } {
  const name = host.replace(/:\d{1,5}$/, '').toLowerCase();
  const suffix = zones.map((zone) => `${HOST_SUFFIX}.${zone}`).find((each) => name.endsWith(each));
  if (suffix === undefined) return { kind: 'foreign' };
  const token = name.slice(0, -suffix.length);
  return isPreviewToken(token) ? { kind: 'token', token } : { kind: 'invalid' };
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
