import { expect, test } from '@jest/globals';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentAddress, documentId, headingId, linkTarget } from '../../console/src/docs/document-links.ts';

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENTS = globSync(
  ['docs/*.md', 'docs/{start,guides,concepts,reference}/*.md', 'client/README.md', 'CHANGELOG.md'],
  { cwd: ROOT },
);

const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** The anchors of the headings, without code blocks, in which `#` begins a comment. */
function anchorsOf(path: string): string[] {
  const prose = textOf(path).replace(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/^##+ (.+)$/gm)].map(([, words = '']) => headingId(words.replaceAll('`', '')));
}

test('names a README after its folder, and every other document after its file', () => {
  expect(
    ['docs/README.md', 'client/README.md', 'CHANGELOG.md', 'docs/guides/codex.md'].map(documentId),
  ).toEqual(['docs', 'client', 'changelog', 'codex']);
  expect(['docs', 'codex'].map(documentAddress)).toEqual(['/docs', '/docs/codex']);
});

test('gives no two documents the same id', () => {
  const ids = DOCUMENTS.map(documentId);
  expect(ids.length).toBeGreaterThan(50);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
});

test('resolves a link from the folder of its document', () => {
  expect(linkTarget('docs/guides/codex.md', '../start/install.md#next')).toEqual({
    path: 'docs/start/install.md',
    hash: '#next',
  });
});

test.each(DOCUMENTS)('%s links to headings that exist', (from) => {
  const links = [...textOf(from).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, href = '']) =>
    linkTarget(from, href),
  );
  const missing = links.filter(
    ({ path, hash }) =>
      !existsSync(join(ROOT, path)) ||
      (hash !== '' && path.endsWith('.md') && !anchorsOf(path).includes(hash.slice(1))),
  );
  expect(missing).toEqual([]);
});
