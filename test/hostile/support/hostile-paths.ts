import { posix } from 'node:path';

/** Ways in which a path leaves the workspace, or appears to; `@` is its target. */
const CLIMBS = [
  '@',
  '/@',
  '//@',
  '../@',
  'workspace/../@',
  'workspace/../../../@',
  'workspace/a/../../@',
  './../@',
  'workspace/./../@',
  'workspace//..//@',
  'workspace/.../../../@',
  'workspace/a/b/c/../../../../@',
  'workspace/..\\..\\@',
  'workspace/..;/@',
  'workspace/..\0/@',
  'workspace/a\0/../../@',
  'workspacefoo/../workspace/../@',
  'workspace/%2e%2e/@',
  'workspace/link/../../@',
];

/** Combined with a climb, some end up inside on purpose. */
const TARGETS = ['etc/passwd', 'tmp/canary/secret', 'workspace2/x', 'HOST'];

const percent = (byte: number) => `%${byte.toString(16).padStart(2, '0')}`;
const encode = (chars: RegExp, write: (char: string) => string) => (path: string) =>
  path.replace(chars, write);
const hex = (char: string) => [...Buffer.from(char)].map(percent).join('');

/** Encodings of the path in the URL. */
const ENCODINGS: Readonly<Record<string, (path: string) => string>> = {
  raw: (path) => path,
  'dots encoded': encode(/\./g, hex),
  'slashes encoded': encode(/\//g, hex),
  'everything encoded': encode(/[^]/g, hex),
  'in capitals': encode(/[./\\]/g, (char) => hex(char).toUpperCase()),
  'encoded twice': encode(/[./\\]/g, (char) => hex(char).replace('%', '%25')),
  'encoded three times': encode(/[./\\]/g, (char) => hex(char).replace('%', '%2525')),
  'overlong dots': encode(/\./g, () => '%c0%ae'),
  'overlong slashes': encode(/\//g, () => '%c0%af'),
  'overlong, three bytes': encode(/\./g, () => '%e0%80%ae'),
  'wide slashes': encode(/\//g, () => '%ef%bc%8f'),
  'dots of %u': encode(/\./g, () => '%u002e'),
};

/** Single cases: too long, truncated, or not a URL. */
const SINGLES: readonly string[] = [
  `workspace/${'n'.repeat(255)}`,
  `workspace/${'n'.repeat(256)}`,
  `workspace/${'é'.repeat(127)}`,
  `workspace/${'%c3%a9'.repeat(128)}`,
  `workspace/${'d/'.repeat(400)}f`,
  `workspace/${'d/'.repeat(2_100)}f`,
  `workspace/${'../'.repeat(3_000)}etc/passwd`,
  `workspace/${'n'.repeat(20_000)}`,
  `workspace/${'n/'.repeat(40_000)}`,
  'workspace/%',
  'workspace/%2',
  'workspace/%zz',
  'workspace/%ff',
  'workspace/%ed%a0%80',
  'workspace/%f4%90%80%80',
  'workspace/a b',
  'workspace/a\tb',
  'workspace/\x01',
  'workspace/\x7f',
  'workspace/\xe9',
  'workspace/a%0d%0aX-Evil: 1',
  'workspace/a%0aname',
  'workspace/%00',
  'workspace/a%00.txt',
  'workspace',
  'workspace/',
  'workspace/.',
  'workspace/..',
  'workspace/a/..',
  'workspace/-rf',
  'workspace/--help',
  'workspace/$(touch%20pwned)',
  'workspace/`id`',
  "workspace/'%22",
  'workspace/*',
  'workspace/~root',
  'workspace/a;b',
  'workspace/a&b=c',
  'workspace/.porthole-0123456789abcdef',
  '',
  '?path=../etc/passwd',
  'workspace/q?../../etc/passwd',
];

/** The tails of URLs, as sent, without duplicates. */
export function hostileTails(hostCanary: string): readonly string[] {
  const tails = CLIMBS.flatMap((climb) =>
    TARGETS.flatMap((target) => {
      const path = climb.replace('@', target === 'HOST' ? hostCanary.slice(1) : target);
      return Object.values(ENCODINGS).map((write) => write(path));
    }),
  );
  return [...new Set([...tails, ...SINGLES])];
}

/** The meaning of the path by the rules alone: decoded once and in full, then validated. */
export type Meaning =
  | { readonly kind: 'no URL' }
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'outside' }
  | { readonly kind: 'too long' }
  | { readonly kind: 'workspace' }
  | { readonly kind: 'inside'; readonly path: string };

export function meaningOfTail(tail: string): Meaning {
  if (/[^\x21-\x7e]/.test(tail)) return { kind: 'no URL' };
  const [encoded = ''] = tail.split('?', 1);
  if (encoded === '') return { kind: 'unreadable' };
  try {
    return meaningOf(`/${decodeURIComponent(encoded)}`);
  } catch {
    return { kind: 'unreadable' };
  }
}

/** A relative path is resolved against the workspace. */
export function meaningOf(path: string): Meaning {
  if (path.includes('\0')) return { kind: 'unreadable' };
  const resolved = posix.resolve('/workspace', path);
  if (resolved === '/workspace') return { kind: 'workspace' };
  if (!resolved.startsWith('/workspace/')) return { kind: 'outside' };
  const tooLong = resolved.split('/').some((name) => Buffer.byteLength(name) > 255);
  return tooLong || Buffer.byteLength(resolved) > 4_095
    ? { kind: 'too long' }
    : { kind: 'inside', path: resolved };
}
