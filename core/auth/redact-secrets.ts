import { API_KEY_PATTERN } from './api-key-store.ts';
import { PREVIEW_TOKEN_PATTERN } from '#protocol/preview-words.ts';

/**
 * Secrets that no log line and no error may contain: preview tokens (also within host names),
 * signed tokens, API keys, bearer headers, passwords of URLs.
 */
const SECRETS: readonly [RegExp, string][] = [
  [new RegExp(PREVIEW_TOKEN_PATTERN, 'gi'), '[preview token]'],
  // The lookahead finds the dot once for each word: a search from each `eyJ` takes quadratic time.
  [/(?<![\w-])(?=[\w-]+\.[\w-])([\w-]*?)\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, '$1[signed token]'],
  [new RegExp(API_KEY_PATTERN, 'gi'), '[api key]'],
  [/\b(bearer\s+)[^\s"\\]+/gi, '$1[redacted]'],
  [/([?&]token=)[^&\s"\\]+/gi, '$1[redacted]'],
  // Database drivers include the URL in their errors.
  [/(\/\/[^/:@\s"\\]+:)[^@/\s"\\]+(@)/g, '$1[redacted]$2'],
];

/** Shorter secrets would match ordinary words. */
const MIN_LENGTH = 4;

/**
 * Redacts secrets in a text: the `known` ones (also JSON- and URL-encoded), and everything that has
 * the form of a secret.
 */
export function secretRedactor(known: readonly string[]): (text: string) => string {
  const literal = new Set<string>();
  for (const secret of known) {
    if (secret.length < MIN_LENGTH) continue;
    literal.add(secret);
    literal.add(JSON.stringify(secret).slice(1, -1));
    literal.add(encodeURIComponent(secret));
  }
  return (text) => {
    let clean = text;
    for (const secret of literal) clean = clean.replaceAll(secret, '[redacted]');
    for (const [pattern, replacement] of SECRETS) clean = clean.replace(pattern, replacement);
    return clean;
  };
}
