import { gzipSync, zstdCompressSync } from 'node:zlib';
import { entry, gnuLong, pax, paxRecord, tar, type TarEntry } from './tar-builder.ts';

/** First in every hostile archive: if it exists afterwards, something has been unpacked. */
const BAIT: TarEntry = { name: 'bait', content: 'unpacked' };
const FILE: TarEntry = { name: 'pwned', content: 'x' };
const OUT = '../../tmp/canary/secret';
const link = (name: string, linkName: string): TarEntry => ({ name, type: '2', linkName });
const hard = (name: string, linkName: string): TarEntry => ({ name, type: '1', linkName });
const folder = (name: string): TarEntry => ({ name, type: '5', mode: 0o755 });
const file = (name: string | Buffer): TarEntry => ({ name, content: 'x' });
const hostile = (...entries: readonly (TarEntry | Buffer)[]) => tar(BAIT, ...entries);

function names(): Record<string, Buffer> {
  const bad = {
    absolute: '/tmp/canary/secret',
    'absolute, two slashes': '//tmp/canary/secret',
    'absolute, to the workspace itself': '/workspace/a',
    'dots first': OUT,
    'dots behind a dot': './../tmp/canary/secret',
    'dots in the middle': 'a/../../tmp/canary/secret',
    'dots that stay inside': 'a/../b',
    'dots at the end': 'a/b/..',
    'nothing but dots': '..',
    'dots and a slash': '../',
    'dots behind slashes': 'a//..//..//tmp/x',
    nothing: '',
    'the workspace as a file': '.',
    'the workspace as a file, by slashes': './/.',
    'a part of 256 bytes': undefined,
  };
  return Object.fromEntries(
    Object.entries(bad).flatMap(([what, name]) => {
      const long = name ?? 'n'.repeat(256);
      return [
        ...(name === undefined ? [] : [[`name: ${what}`, hostile(file(name))] as const]),
        [`name by pax: ${what}`, hostile(pax({ path: long }), FILE)] as const,
        [`name by GNU: ${what}`, hostile(gnuLong('L', long), FILE)] as const,
      ];
    }),
  );
}

/** Ways out of the workspace. */
export const WAYS_OUT = {
  absolute: '/tmp/canary',
  'the root': '/',
  '/proc/self/root': '/proc/self/root',
  '/proc/self/cwd': '/proc/self/cwd/../etc',
  '/dev/stdin': '/dev/stdin',
  dots: '../tmp/canary',
  'dots behind a folder': 'a/../../tmp',
  'dots behind a link': 'up/..',
  'dots behind programs': '/usr/../tmp/canary',
  'a sibling of the workspace': '../workspace2',
  'a drive of Windows, CVE-2026-31802': 'C:../../../tmp/canary',
};

/**
 * The target of a link, in each encoding. A symbolic link may point anywhere; nothing may be
 * written through it.
 */
function targets(): Record<string, Buffer> {
  const out = Object.entries(WAYS_OUT).flatMap(([what, target]) => [
    [`beyond a symlink: ${what}`, hostile(link('up', '.'), link('l', target), file('l/pwned'))] as const,
    [
      `beyond a symlink by pax: ${what}`,
      hostile(pax({ linkpath: target }), link('l', 'bait'), file('l/pwned')),
    ] as const,
    [
      `beyond a symlink that only readers without pax make: ${what}`,
      hostile(pax({ path: 'safe' }), link('l', target), file('l/pwned')),
    ] as const,
    [
      `beyond a symlink by GNU: ${what}`,
      hostile(gnuLong('K', target), link('l', 'bait'), file('l/pwned')),
    ] as const,
    [`hard link: ${what}`, hostile(hard('h', target))] as const,
    [`hard link by pax: ${what}`, hostile(pax({ linkpath: target }), hard('h', 'bait'))] as const,
  ]);
  return {
    ...Object.fromEntries(out),
    'symlink: nothing': hostile(link('l', '')),
    'symlink by pax: nothing': hostile(pax({ linkpath: '' }), link('l', 'bait')),
    'symlink by GNU: nothing': hostile(gnuLong('K', ''), link('l', 'bait')),
    'symlink: more than Linux takes': hostile(pax({ linkpath: 'a/'.repeat(2_048) }), link('l', 'bait')),
    'hard link: nothing': hostile(hard('h', '')),
    'hard link by pax: nothing': hostile(pax({ linkpath: '' }), hard('h', 'bait')),
  };
}

const CHAINS: Record<string, Buffer> = {
  'through a symlink': hostile(link('l', 'bait'), file('l/pwned')),
  'through a symlink to programs': hostile(link('l', '/usr/lib'), file('l/pwned')),
  'through a symlink, by pax': hostile(link('l', '.'), pax({ path: 'l/pwned' }), FILE),
  'through a symlink that only the short name shows': hostile(
    link('l', '/opt/x'),
    pax({ path: 'safe' }),
    file('l/pwned'),
  ),
  'through a symlink, by a long name': hostile(link('l', '.'), gnuLong('L', 'l/pwned'), FILE),
  'through a symlink, by a prefix': hostile(link('l', '.'), { ...FILE, prefix: 'l' }),
  'through a symlink, by a prefix that is not of its kind': hostile(link('l', '.'), {
    ...FILE,
    prefix: 'l',
    magic: 'ustar  \0',
  }),
  'a prefix in the oldest kind': hostile({ ...FILE, prefix: '../..', magic: '\0'.repeat(8) }),
  'a prefix that climbs': hostile({ ...FILE, prefix: '../..' }),
  'a prefix that is absolute': hostile({ ...FILE, prefix: '/tmp' }),
  'a symlink over a folder': hostile(folder('d'), link('d', '.'), file('d/pwned')),
  'a symlink over a folder that is only on the way': hostile(file('d/a'), link('d', '.')),
  'a symlink over a file': hostile(link('bait', '.')),
  'a file over a symlink': hostile(link('l', 'bait'), file('l')),
  'a folder over a symlink': hostile(link('d', '.'), folder('d')),
  'a folder over a symlink, with a slash': hostile(link('d', '.'), folder('d/'), file('d/a')),
  'a chain of symlinks': hostile(link('a', 'b'), link('b', 'c'), link('c', '.'), file('a/pwned')),
  'a chain that climbs, deep first (CVE-2025-4517)': hostile(
    folder('d/d/d'),
    link('d/d/d/up', '../../..'),
    link('out', 'd/d/d/up/..'),
    file('out/pwned'),
  ),
  'a symlink named with a slash': hostile({ ...link('l/', '.') }),
  'a hard link to a symlink (CVE-2026-26960)': hostile(link('l', 'bait'), hard('h', 'l')),
  'a hard link through a symlink (CVE-2026-26960)': hostile(folder('d'), link('l', 'd'), hard('h', 'l/x')),
  'a hard link ahead': hostile(hard('h', 'later'), file('later')),
  'a hard link to what is there (CVE-2026-23745)': hostile(hard('h', 'there')),
  'a hard link to a folder': hostile(folder('d'), hard('h', 'd')),
  'a hard link to itself': hostile(hard('bait', 'bait')),
  'a hard link to a pipe': hostile({ name: 'p', type: '6' }, hard('h', 'p')),
  'a hard link that climbs and returns (CVE-2026-24842)': hostile(hard('h', '../workspace/bait')),
  'a hard link by drive (CVE-2026-29786)': hostile(hard('h', 'C:../bait')),
  'a hard link, then a symlink of its name': hostile(hard('h', 'bait'), link('h', '.')),
  'a hard link with contents': hostile({ ...hard('h', 'bait'), content: 'x'.repeat(512) }),
  'a file below a file': hostile(file('bait/x')),
  'a file over a folder': hostile(folder('d'), file('d')),
  'a folder over a file': hostile(folder('bait')),
};

const KINDS: Record<string, Buffer> = Object.fromEntries([
  ...['3', '4', 'S', 'V', 'M', 'N', 'D', 'X', 'A', 'I', '8', '9', 'z', ' ', '\xff'].map(
    (type) => [`type ${JSON.stringify(type)}`, hostile({ name: 'dev', type })] as const,
  ),
  ['a folder with contents', hostile({ name: 'd', type: '5', content: 'x' })],
  ['a symlink with contents', hostile({ ...link('l', 'bait'), content: 'x' })],
  ['a pipe with contents', hostile({ name: 'p', type: '6', content: 'x' })],
  ['a file with a slash and contents', hostile({ name: 'f/', content: 'x' })],
  ['a pipe with a slash', hostile({ name: 'p/', type: '6' })],
]);

const META: Record<string, Buffer> = {
  'pax size on a long name (CVE-2026-53655)': hostile(pax({ size: '1024' }), gnuLong('L', 'a'), FILE),
  'pax size on a long link': hostile(pax({ size: '1024' }), gnuLong('K', 'a'), link('l', 'b')),
  'pax size of a folder': hostile(pax({ size: '512' }), folder('d'), Buffer.alloc(512)),
  'pax size that hides an entry (CVE-2026-33055)': hostile(
    pax({ size: '1024' }),
    { ...FILE, content: '' },
    FILE,
  ),
  'pax size that is negative': hostile(pax({ size: '-512' }), FILE),
  'pax size of many digits': hostile(pax({ size: '9'.repeat(40) }), FILE),
  'pax size twice': hostile(pax(paxRecord('size', '1') + paxRecord('size', '512')), FILE),
  'pax path twice': hostile(pax(paxRecord('path', 'a') + paxRecord('path', OUT)), FILE),
  'pax path with a NUL': hostile(pax({ path: 'a\0/../../x' }), FILE),
  'pax path that is empty': hostile(pax({ path: '' }), FILE),
  'two pax headers': hostile(pax({ path: 'a' }), pax({ path: 'b' }), FILE),
  'pax and a long name': hostile(pax({ path: 'a' }), gnuLong('L', 'b'), FILE),
  'a long name and pax': hostile(gnuLong('L', 'b'), pax({ path: 'a' }), FILE),
  'a long name twice': hostile(gnuLong('L', 'a'), gnuLong('L', OUT), FILE),
  'a long link twice': hostile(gnuLong('K', 'a'), gnuLong('K', OUT), link('l', 'x')),
  'a long name with a NUL': hostile(gnuLong('L', 'a\0../../x'), FILE),
  'a long name without an entry': hostile(gnuLong('L', 'a')),
  'pax without an entry': hostile(pax({ path: 'a' })),
  'a long name of nothing': hostile(entry({ name: '././@LongLink', type: 'L' }), FILE),
  'a long name of 128 KiB': hostile(gnuLong('L', 'a/'.repeat(65_536)), FILE),
  'pax of 128 KiB': hostile(pax({ comment: 'a'.repeat(131_072) }), FILE),
  'pax global with a path': hostile(pax({ path: OUT }, 'g'), FILE),
  'pax global with a size': hostile(pax({ size: '0' }, 'g'), FILE),
  'pax global between pax and its entry': hostile(pax({ path: 'a' }), pax({ comment: 'x' }, 'g'), FILE),
  'pax that is sparse': hostile(
    pax({ 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.name': OUT }),
    FILE,
  ),
  'pax with a sparse map': hostile(pax({ 'GNU.sparse.map': '0,1', 'GNU.sparse.size': '1' }), FILE),
  'pax with a real size': hostile(pax({ 'SCHILY.realsize': '1099511627776' }), FILE),
  'pax of GNU volumes': hostile(pax({ 'GNU.volume.filename': 'x' }), FILE),
  'pax with an unknown key': hostile(pax({ 'EVIL.path': 'x' }), FILE),
  'pax with a length that is too long': hostile(pax('99 path=a\n'), FILE),
  'pax with a length that is too short': hostile(pax('5 path=a\n'), FILE),
  'pax with a length of zero': hostile(pax('0 path=a\n'), FILE),
  'pax with a negative length': hostile(pax('-9 path=a\n'), FILE),
  'pax without a newline': hostile(pax('9 path=aa'), FILE),
  'pax without an equals sign': hostile(pax('7 path\n'), FILE),
  'pax without a key': hostile(pax('6 =ab\n'), FILE),
};

const SIZES: Record<string, Buffer> = Object.fromEntries(
  Object.entries({
    'negative, base 256': Buffer.alloc(12, 0xff),
    'huge, base 256': Buffer.from([0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
    '2^53, base 256': Buffer.from([0x80, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0]),
    '8 GiB, octal': '77777777777\0',
    'no number': 'twelve\0',
    'a sign': '-0000000001\0',
    hexadecimal: '0x000000001\0',
    'decimal digits': '00000000099\0',
    'something behind it': '0000000\x001000',
    'base 64 of old GNU': '+AAAAAAAAAB\0',
    'more than there is': '00000010000\0',
  }).map(([what, size]) => [`size: ${what}`, hostile({ ...FILE, size })]),
);

const GOOD = tar(BAIT, gnuLong('L', 'a'.repeat(120)), FILE, pax({ path: 'é'.repeat(60) }), file('e'));

const FRAMES: Record<string, Buffer> = {
  'a checksum that does not fit': hostile({ ...FILE, checksum: '000001\0 ' }),
  'a checksum of nothing': hostile({ ...FILE, checksum: ' '.repeat(8) }),
  'a checksum that is signed': hostile({ name: 'é'.repeat(20), checksum: '777777\0 ' }),
  'an unknown kind': hostile({ ...FILE, magic: 'evil!\x0000' }),
  'data behind its end': Buffer.concat([hostile(FILE), entry(file('late'))]),
  'data behind one block of zeros': Buffer.concat([entry(BAIT), Buffer.alloc(512), tar(FILE)]),
  'rubbish behind its end': Buffer.concat([hostile(FILE), Buffer.from('x'.repeat(512))]),
  'two archives, one behind the other': Buffer.concat([hostile(FILE), hostile(FILE)]),
  'half a block': GOOD.subarray(0, GOOD.length - 100),
  'half a header': tar(BAIT).subarray(0, 1_024 + 300),
  'half the contents': Buffer.concat([
    entry(BAIT),
    entry({ name: 'f', content: 'x'.repeat(2_000) }).subarray(0, 1_024),
  ]),
  'half a long name': Buffer.concat([entry(BAIT), gnuLong('L', 'a'.repeat(600)).subarray(0, 1_024)]),
  'half a pax header': Buffer.concat([entry(BAIT), pax({ comment: 'a'.repeat(600) }).subarray(0, 1_024)]),
  'nothing but text': Buffer.from('no archive at all\n'.repeat(64)),
  'one byte': Buffer.from('x'),
  gzip: gzipSync(tar(FILE)),
  'a bomb of gzip': gzipSync(Buffer.alloc(64 << 20)),
  'a bomb of zstd': zstdCompressSync(Buffer.alloc(64 << 20)),
  bzip2: Buffer.concat([Buffer.from('BZh91AY&SY'), Buffer.alloc(1_014, 7)]),
  xz: Buffer.concat([Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), Buffer.alloc(1_018, 7)]),
  zip: Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(1_020, 7)]),
  cpio: Buffer.concat([Buffer.from('070701'), Buffer.alloc(1_018, 0x30)]),
};

/** Archives that must each be refused as a whole. */
export const HOSTILE_TARS: Readonly<Record<string, Buffer>> = {
  ...names(),
  ...targets(),
  ...CHAINS,
  ...KINDS,
  ...META,
  ...SIZES,
  ...FRAMES,
};

/** Large archives, created on demand. */
export const BOMBS: Readonly<Record<string, () => Buffer>> = {
  'folders in folders, 2,000 deep, 4,000 times': () =>
    tar(
      ...Array.from({ length: 4_000 }, (_, at) =>
        Buffer.concat([pax({ path: `${at}/${'a/'.repeat(1_900)}f` }), entry({ name: 'f' })]),
      ),
    ),
  'a name of 5,000 bytes': () => hostile(pax({ path: 'a/'.repeat(2_500) }), FILE),
};

/** As much of a long name as a header has room for. */
const CUT = `${'d'.repeat(99)}/`;

/**
 * Unusual archives and their result: path → content, or link target. They are accepted because
 * every reader treats them the same.
 */
export const HARMLESS_TARS: Readonly<Record<string, readonly [Buffer, Readonly<Record<string, string>>]>> = {
  'names with control characters': [
    tar(file('new\nline'), file('tab\there'), file('beep\x07')),
    { 'new\nline': 'x', 'tab\there': 'x', 'beep\x07': 'x' },
  ],
  'names of shells': [tar(file('$(id)'), file('-rf'), file('*')), { '$(id)': 'x', '-rf': 'x', '*': 'x' }],
  'names with backslashes': [tar(file('..\\..\\x')), { '..\\..\\x': 'x' }],
  'names that only look like dots': [tar(file('...'), file('..a/b')), { '...': 'x', '..a/b': 'x' }],
  'names in two cases, ß and ss (CVE-2026-23950)': [
    tar(file('Case'), file('case'), file('ß'), file('ss')),
    { Case: 'x', case: 'x', ß: 'x', ss: 'x' },
  ],
  'a name behind a NUL': [tar(file('short\0/../../etc')), { short: 'x' }],
  'a file twice: the last one counts': [
    tar(file('twice'), { name: 'twice', content: 'last' }),
    { twice: 'last' },
  ],
  'a folder with its slash, of the oldest kind': [
    tar({ name: 'old/', mode: 0o755, magic: '\0'.repeat(8) }, file('old/f')),
    { 'old/f': 'x' },
  ],
  'long names of GNU tar and of pax, cut behind a slash, of files with and without contents': [
    tar(
      gnuLong('L', `${CUT}gnu`),
      file(CUT),
      pax({ path: `${CUT}pax` }),
      file(CUT),
      pax({ path: `${CUT}empty` }),
      { name: CUT },
    ),
    { [`${CUT}gnu`]: 'x', [`${CUT}pax`]: 'x', [`${CUT}empty`]: '' },
  ],
  'a hard link to an earlier file': [tar(file('one'), hard('two', 'one')), { one: 'x', two: 'x' }],
  'links that stay inside': [
    tar(folder('d'), link('d/up', '../d'), link('abs', '/workspace/d')),
    { 'd/up': '→../d', abs: '→/workspace/d' },
  ],
  'links that lead out': [
    tar(...Object.values(WAYS_OUT).map((target, at) => link(`out${at}`, target))),
    Object.fromEntries(Object.values(WAYS_OUT).map((target, at) => [`out${at}`, `→${target}`])),
  ],
  'a link to 4,095 bytes': [
    tar(gnuLong('K', `/${'a'.repeat(4_094)}`), link('long', '/aaa')),
    { long: `→/${'a'.repeat(4_094)}` },
  ],
  'a link to a program': [tar(link('python', '/usr/bin/python3')), { python: '→/usr/bin/python3' }],
  'no end': [entry(file('endless')), { endless: 'x' }],
  'zeros to the end of a tape': [Buffer.concat([tar(file('tape')), Buffer.alloc(10_240)]), { tape: 'x' }],
  'set-user-id: the bit is nothing here': [tar({ ...file('suid'), mode: 0o6755 }), { suid: 'x' }],
  'deep folders': [tar(pax({ path: `${'d/'.repeat(400)}f` }), FILE), { [`${'d/'.repeat(400)}f`]: 'x' }],
  'a read-only folder': [
    tar(
      { ...folder('closed'), mode: 0o555 },
      file('closed/f'),
      { ...folder('closed/in'), mode: 0o500 },
      file('closed/in/g'),
    ),
    { 'closed/f': 'x', 'closed/in/g': 'x' },
  ],
};
