import { PREVIEW_TOKEN_PATTERN } from '../previews/preview-token.ts';

/**
 * What no log line and no error may hold, wherever it came from: preview tokens (also within host
 * names), signed tokens, bearer headers, passwords of URLs.
 */
const SECRETS: readonly [RegExp, string][] = [
  [new RegExp(PREVIEW_TOKEN_PATTERN, 'gi'), '[preview token]'],
  [/\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, '[signed token]'],
  [/\b(bearer\s+)[^\s"\\]+/gi, '$1[redacted]'],
  [/([?&]token=)[^&\s"\\]+/gi, '$1[redacted]'],
  // As database drivers like to repeat it.
  [/(\/\/[^/:@\s"\\]+:)[^@/\s"\\]+(@)/g, '$1[redacted]$2'],
];

/** Shorter ones would take innocent words out of every line. */
const MIN_LENGTH = 4;

/**
 * Takes secrets out of a text: the `known` ones (also as JSON and URLs write them), and whatever
 * has the form of one.
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
