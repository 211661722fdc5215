import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTarHeader } from '#base/tar/tar-header.ts';
import { TarValidator } from '#base/tar/validate-tar.ts';
import { PortholeError } from '#base/errors.ts';
import { BOMBS, HARMLESS_TARS, HOSTILE_TARS } from '../../hostile/support/hostile-tars.ts';
import { gnuLong, pax, tar } from '../../hostile/support/tar-builder.ts';
import { repetitions, suite } from '../../support/suite.ts';

/** Why an archive is refused, in chunks of some length; undefined if it is accepted. */
function outcome(archive: Buffer, piece = archive.length): string | undefined {
  const validator = new TarValidator();
  try {
    for (let at = 0; at < archive.length; at += piece) validator.push(archive.subarray(at, at + piece));
    validator.end();
    return undefined;
  } catch (error) {
    if (error instanceof PortholeError && error.code === 'invalid_request') return error.message;
    throw error;
  }
}

const GOOD = tar(
  { name: './', type: '5', mode: 0o755 },
  { name: 'dir', type: '5', mode: 0o755 },
  { name: 'dir/file', content: 'content\n'.repeat(100) },
  { name: 'link', type: '2', linkName: 'dir/file' },
  { name: 'hard', type: '1', linkName: 'dir/file' },
  gnuLong('L', `dir/${'long'.repeat(40)}`),
  { name: 'short', content: 'x' },
  pax({ path: `dir/${'é'.repeat(60)}`, mtime: '1700000000.5' }),
  { name: 'other', content: 'y' },
);

describe('tar validator', () => {
  test('has more than 60 hostile archives', () => {
    expect(Object.keys(HOSTILE_TARS).length).toBeGreaterThan(180);
  });

  test.each(Object.entries(HOSTILE_TARS))('rejects an archive with %s', (_what, archive) => {
    const reason = outcome(archive);
    expect(reason).toMatch(/^The archive is refused: /);
    for (const piece of [1, 511, 513]) {
      if (archive.length < 20_000) expect(outcome(archive, piece)).toBe(reason);
    }
  });

  test.each(Object.entries(BOMBS))('rejects an archive with %s', (_what, make) => {
    expect(outcome(make())).toMatch(/^The archive is refused: /);
  });

  test.each(Object.entries(HARMLESS_TARS))('accepts an archive with %s', (_what, [archive]) => {
    expect(outcome(archive)).toBeUndefined();
    expect(outcome(archive, 7)).toBeUndefined();
  });

  test('rejects an archive that is truncated anywhere except after an entry', () => {
    const whole = new Set([0]);
    for (let at = 0; at <= GOOD.length; at += 128)
      if (outcome(GOOD.subarray(0, at)) === undefined) whole.add(at);
    // ./ · dir · dir/file and its two blocks · link · hard · the long name and its file · the pax
    // header and its file · two blocks of zeros
    expect([...whole]).toEqual([0, 512, 1_024, 2_560, 3_072, 3_584, 5_632, 7_680, 8_192, 8_704]);
  });

  test('removes the slash at which a name was split', () => {
    const cut = `${'d'.repeat(99)}/`;
    const names: string[] = [];
    const types: string[] = [];
    const validator = new TarValidator({
      visitor: {
        entry(entry, headers) {
          types.push(entry.type);
          names.push(readTarHeader(headers.subarray(-512)).name);
        },
        contents: () => undefined,
        padding: () => undefined,
      },
    });
    validator.push(
      tar(
        gnuLong('L', `${cut}full`),
        { name: cut, content: 'x' },
        pax({ path: `${cut}empty` }),
        { name: cut },
        pax({ path: 'extended' }),
        { name: '', prefix: 'd', content: 'x' },
        pax({ path: `${cut}folder` }),
        { name: cut, type: '5' },
      ),
    );
    validator.end();
    expect(types).toEqual(['file', 'file', 'file', 'directory']);
    expect(names).toEqual([`${'d'.repeat(99)}_`, `${'d'.repeat(99)}_`, 'd/_', cut]);
  });

  test('accepts what GNU tar writes, in each format', () => {
    const folder = mkdtempSync(join(tmpdir(), 'porthole-tar-'));
    try {
      mkdirSync(join(folder, 'a/b'), { recursive: true });
      writeFileSync(join(folder, 'a/b', 'n'.repeat(150)), 'x');
      symlinkSync('b', join(folder, 'a/link'));
      for (const format of ['gnu', 'oldgnu', 'posix']) {
        const archive = execFileSync('tar', ['-C', folder, `--format=${format}`, '-cf', '-', '.']);
        expect(outcome(archive)).toBeUndefined();
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

const READERS = ['tar', 'busybox'] as const;
const missing = READERS.every((reader) => spawnSync(reader, ['--help'], { stdio: 'ignore' }).status === 0)
  ? undefined
  : 'apt-get install tar busybox';

suite('archives that the validator accepts, in real tar programs', missing, () => {
  /**
   * Unpacks it below a folder that has a canary beside it and a link out; returns the resulting
   * names, or undefined if anything outside has changed.
   */
  function unpacked(reader: (typeof READERS)[number], archive: Buffer): string[] | undefined {
    const place = mkdtempSync(join(tmpdir(), 'porthole-unpack-'));
    const inside = join(place, 'a/b/c/inside');
    try {
      mkdirSync(inside, { recursive: true });
      writeFileSync(join(place, 'canary'), 'canary');
      const words = reader === 'busybox' ? ['tar'] : [];
      spawnSync(reader, [...words, '-xof', '-', '-C', inside], {
        input: archive,
        stdio: ['pipe', 'ignore', 'ignore'],
        timeout: 20_000,
      });
      const all = execFileSync('find', [place, '-printf', '%P %y %l\\0']).toString().split('\0').sort();
      const outside = all.filter((line) => !line.startsWith('a/b/c/inside'));
      if (outside.join('|') !== '| d |a d |a/b d |a/b/c d |canary f ') return undefined;
      if (readFileSync(join(place, 'canary'), 'utf8') !== 'canary') return undefined;
      return all.filter((line) => line.startsWith('a/b/c/inside/'));
    } finally {
      execFileSync('chmod', ['-R', 'u+rwX', place]);
      rmSync(place, { recursive: true, force: true });
    }
  }

  test.each(READERS)('keeps every harmless archive inside with %s', (reader) => {
    for (const [what, [archive]] of Object.entries(HARMLESS_TARS)) {
      expect([what, unpacked(reader, archive) === undefined]).toEqual([what, false]);
    }
  });

  test('extracts harmless archives alike with GNU tar and busybox', () => {
    for (const [what, [archive]] of Object.entries(HARMLESS_TARS)) {
      // busybox uses the short name where pax has a longer one, and does not detect a folder by its
      // slash alone: both stay inside. It does not create links of more than 4,094 bytes.
      if (archive.includes('PaxHeaders') || /oldest kind|4,095/.test(what)) continue;
      expect([what, unpacked('busybox', archive)]).toEqual([what, unpacked('tar', archive)]);
    }
  });

  test('rejects a valid archive after any bit flip, or keeps it inside', () => {
    const flips = repetitions(250);
    let taken = 0;
    fc.assert(
      fc.property(
        fc.nat(GOOD.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.boolean(),
        (at, mask, mend) => {
          const archive = flipped(at, mask, mend);
          if (outcome(archive) !== undefined) return;
          taken += 1;
          for (const reader of READERS) expect(unpacked(reader, archive)).toBeDefined();
        },
      ),
      { numRuns: flips, endOnFailure: true },
    );
    expect(taken).toBeGreaterThan(flips / 50);
  });
});

/** With one byte changed and the header's checksum corrected, so that the change counts. */
function flipped(at: number, mask: number, mend: boolean): Buffer {
  const archive = Buffer.from(GOOD);
  archive[at] = (archive[at] ?? 0) ^ mask;
  const block = archive.subarray(at - (at % 512), at - (at % 512) + 512);
  if (mend && block.toString('latin1', 257, 262) === 'ustar') {
    block.fill(' ', 148, 156);
    const sum = block.reduce((total, byte) => total + byte, 0);
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  }
  return archive;
}
