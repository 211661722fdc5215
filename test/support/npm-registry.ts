import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { END_OF_ARCHIVE, tarEntry } from '#base/tar/write-tar.ts';

/** The package `tiny`, as npm downloads it. */
const ARCHIVE = gzipSync(
  Buffer.concat([
    ...[
      ['package/package.json', '{"name":"tiny","version":"1.0.0","main":"index.js"}'],
      ['package/index.js', '// tiny is here\n'],
    ].map(([path = '', text = '']) => tarEntry({ path, isExecutable: false, content: Buffer.from(text) })),
    END_OF_ARCHIVE,
  ]),
);

/**
 * Answers as an npm registry with the package `tiny` alone. Returns false for any other request.
 * @param origin of the registry, as the sandbox calls it
 */
export function answerRegistry(
  { url = '' }: Pick<IncomingMessage, 'url'>,
  response: ServerResponse,
  origin: string,
): boolean {
  if (url.endsWith('/tiny.tgz')) {
    response.end(ARCHIVE);
    return true;
  }
  if (!url.endsWith('/tiny')) return false;
  const dist = { tarball: `${origin}/tiny.tgz` };
  const version = { name: 'tiny', version: '1.0.0', main: 'index.js', dist };
  const packument = { name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(packument));
  return true;
}
