import type { Services } from '../services.ts';

/** What a page of the console is served with: nothing from elsewhere, and nothing inline. Frames are previews alone; each is sandboxed, and told no referrer. */
export function consoleHeaders(services: Pick<Services, 'preview' | 'publicUrl'>): Record<string, string> {
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data: blob:",
      "font-src 'self'",
      "connect-src 'self'",
      `frame-src ${previewSources(services)}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'cross-origin-opener-policy': 'same-origin',
    // Previews may be of the same site: a process that runs one must not have this page in its memory, too.
    'origin-agent-cluster': '?1',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
}

/** Where previews are: below their zone, on whatever port. A source of http covers https as well, and not the other way round. */
function previewSources({ preview, publicUrl }: Pick<Services, 'preview' | 'publicUrl'>): string {
  if (!preview.enabled) return "'none'";
  return `${publicUrl?.protocol === 'https:' ? 'https' : 'http'}://*.${preview.zoneSuffix}:*`;
}
