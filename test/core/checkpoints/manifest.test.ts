import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  baseOf,
  EMPTY_MANIFEST,
  type Manifest,
  type ManifestEntry,
  manifestLines,
  readManifest,
  restoreOf,
  totalsOf,
} from '#core/checkpoints/manifest.ts';
import { treeOrder } from '#protocol/guest/tree-protocol.ts';

function entry(path: string, rest: Partial<ManifestEntry> = {}): ManifestEntry {
  return { path, type: 'file', mode: 0o644, mtime: 1_000, version: 'v', blocks: [], ...rest };
}

function manifestOf(...entries: readonly ManifestEntry[]): Manifest {
  const sorted = entries.toSorted((one, other) => (treeOrder(one.path) < treeOrder(other.path) ? -1 : 1));
  return new Map(sorted.map((each) => [each.path, each]));
}

const block = (hash: string, pack = 'p', at = 0, length = 10) => ({ hash, pack, at, length });

const anyEntry = fc.record({
  path: fc
    .array(fc.constantFrom('a', 'b', 'a.b', 'é', '\n'), { minLength: 1, maxLength: 3 })
    .map((parts) => parts.join('/')),
  version: fc.constantFrom('', 'v1', 'v2'),
  mode: fc.constantFrom(0o644, 0o755),
  mtime: fc.constantFrom(1, 2.5),
  kind: fc.constantFrom('file', 'directory', 'symlink'),
  hashes: fc.array(fc.constantFrom('h1', 'h2', 'h3'), { maxLength: 3 }),
});
/** The folders above a path, the outermost first. */
function foldersAbove(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

/** As a file system has it: whatever has something below it is a folder. */
const anyManifest = fc
  .uniqueArray(anyEntry, { selector: ({ path }) => path, maxLength: 12 })
  .map((entries) => {
    const folders = new Set(entries.flatMap(({ path }) => foldersAbove(path)));
    return manifestOf(
      ...[...folders].map((path) => entry(path, { type: 'directory' })),
      ...entries
        .filter(({ path }) => !folders.has(path))
        .map(({ kind, hashes, ...rest }) =>
          kind === 'symlink'
            ? entry(rest.path, { ...rest, type: kind, link: 'target' })
            : entry(rest.path, {
                ...rest,
                type: kind,
                blocks: kind === 'file' ? hashes.map((hash, at) => block(hash, `pack-${hash}`, at)) : [],
              }),
        ),
    );
  });

describe('a manifest', () => {
  test('reads as it was written, whole or as changes of another one', () => {
    fc.assert(
      fc.property(anyManifest, anyManifest, (base, manifest) => {
        const { baseId, text } = manifestLines(manifest, { id: 'base', manifest: base });
        expect(baseOf(text)).toBe(baseId);
        const read = readManifest(text, baseId === null ? EMPTY_MANIFEST : base);
        expect([...read.values()]).toEqual([...manifest.values()]);
      }),
    );
  });

  test('extends another one while little has changed', () => {
    const many = Array.from({ length: 100 }, (_, at) => entry(`f${at}`));
    const base = { id: 'base', manifest: manifestOf(...many) };
    const few = manifestOf(...many.slice(1), entry('new', { version: 'w' }));
    expect(manifestLines(few, base)).toMatchObject({ baseId: 'base' });
    expect(manifestLines(few, base).text.split('\n')).toHaveLength(4);
    const other = manifestOf(...many.map((each) => ({ ...each, version: 'w' })));
    expect(manifestLines(other, base)).toMatchObject({ baseId: null });
  });

  test('counts blocks that files share once for each pack', () => {
    const manifest = manifestOf(
      entry('a', { blocks: [block('x'), block('y', 'q', 0, 5)] }),
      entry('b', { blocks: [block('x')] }),
      entry('c', { type: 'directory' }),
    );
    expect(totalsOf(manifest)).toEqual({ files: 2, bytes: 25, packs: { p: 10, q: 5 } });
  });
});

describe('a restore', () => {
  test('removes the top of what is gone, and what is a folder on one side only', () => {
    const from = manifestOf(
      entry('gone', { type: 'directory' }),
      entry('gone/in'),
      entry('gone.txt'),
      entry('folder', { type: 'directory' }),
      entry('folder/in'),
      entry('file'),
      entry('same'),
    );
    const to = manifestOf(
      entry('folder'),
      entry('file', { type: 'directory' }),
      entry('file/in'),
      entry('same', { version: 'other' }),
    );
    const { removed, written } = restoreOf(from, to);
    expect(removed).toEqual(['file', 'folder', 'gone', 'gone.txt']);
    expect(written.map(({ path }) => path)).toEqual(['file', 'file/in', 'folder']);
  });

  test('writes all names of a file of which one differs', () => {
    const names = (hash: string) => [
      entry('a', { blocks: [block(hash)] }),
      entry('b', { type: 'hardlink', link: 'a' }),
      entry('c', { type: 'hardlink', link: 'a' }),
    ];
    const from = manifestOf(...names('x'), entry('d'));
    expect(restoreOf(from, manifestOf(...names('x'), entry('d'))).written).toEqual([]);
    const to = manifestOf(...names('y'), entry('d'));
    expect(restoreOf(from, to).written.map(({ path }) => path)).toEqual(['a', 'b', 'c']);
    const broken = manifestOf(...names('x').slice(0, 2), entry('c', { blocks: [block('x')] }), entry('d'));
    expect(restoreOf(broken, manifestOf(...names('x'), entry('d'))).written).toHaveLength(3);
  });

  test('leads from any tree to any other', () => {
    fc.assert(
      fc.property(anyManifest, anyManifest, (from, to) => {
        const { removed, written } = restoreOf(from, to);
        const shown = ({ version: _version, mtime, ...each }: ManifestEntry) => ({
          ...each,
          mtime: each.type === 'directory' ? 0 : Math.floor(mtime),
        });
        const after = new Map(from);
        for (const path of removed) {
          for (const each of from.keys())
            if (each === path || each.startsWith(`${path}/`)) after.delete(each);
        }
        for (const each of written) after.set(each.path, each);
        const sorted = (of: Iterable<ManifestEntry>) =>
          [...of].map(shown).sort((one, other) => (one.path < other.path ? -1 : 1));
        expect(sorted(after.values())).toEqual(sorted(to.values()));
      }),
    );
  });
});
