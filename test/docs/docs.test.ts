import { describe, expect, test } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', ...pagesIn('docs')];

function pagesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file));
}

describe.each(PAGES)('%s', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');

  test('names only files that exist', () => {
    const named = [...text.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|js|json|md|yaml|txt))`/g)].map(
      (match) => match[1] as string,
    );
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  test('links only to pages that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map((match) => match[1] as string);
    expect(links.filter((link) => !existsSync(join(ROOT, dirname(page), link)))).toEqual([]);
  });
});

test('names the file of every hop in the path of a request', () => {
  const text = readFileSync(join(ROOT, 'docs/request-path.md'), 'utf8');
  const hops = text.split(/^\d+\. /m).slice(1);
  expect(hops).toHaveLength(9);
  const isServer = (hop: string) => hop.startsWith('**The server in the sandbox**');
  for (const hop of hops.filter((each) => !isServer(each))) expect(hop).toMatch(/`[\w/-]+\.ts`/);
});
