import { describe, expect, test } from '@jest/globals';
import { consoleHeaders } from '#handlers/console/console-files.ts';
import { previewOptions } from '#test/support/preview-options.ts';

describe('a page of the console', () => {
  const policy = (options: Parameters<typeof consoleHeaders>[0]) =>
    consoleHeaders(options)['content-security-policy']?.split('; ') ?? [];

  test.each([
    ['below the zone', undefined, { zoneSuffix: 'localhost' }, 'frame-src http://*.localhost:*'],
    [
      'over TLS alone, where people come over TLS',
      new URL('https://porthole.example'),
      { zoneSuffix: 'preview.example' },
      'frame-src https://*.preview.example:*',
    ],
    [
      'below each of several zones',
      undefined,
      {
        zoneSuffix: 'a.test',
        zones: [{ zone: 'b.test', orgs: ['b'], gateway: { name: 'g', namespace: 'n' } }],
      },
      'frame-src http://*.a.test:* http://*.b.test:*',
    ],
    ['nowhere, where they have no URLs', undefined, { enabled: false }, "frame-src 'none'"],
  ])('may show previews %s', (_, publicUrl, preview, expected) => {
    const found = policy({ previewSettings: previewOptions(preview), publicUrl });
    expect(found.filter((each) => each.startsWith('frame-src'))).toEqual([expected]);
  });

  test('may run, load and ask nothing else but its own', () => {
    expect(policy({ previewSettings: previewOptions(), publicUrl: undefined }).slice(0, 6)).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data: blob:",
      "font-src 'self'",
      "connect-src 'self'",
    ]);
  });
});
