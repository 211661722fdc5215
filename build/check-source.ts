/**
 * Part of `npm run check`: imports between folders, length of comments, and words.
 * `node build/check-source.ts [folder]` prints one line for each fault and exits with 1 if there is
 * one.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { COMMENT_FOLDERS, FOLDERS, WORDS } from './word-list.ts';

/** Folders that each folder may import besides itself. A folder without an entry may import all. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  protocol: ['base'],
  core: ['base', 'protocol'],
  handlers: ['base', 'protocol', 'core'],
  adapters: ['base', 'protocol', 'core', 'constructs', 'proxy'],
  constructs: ['protocol'],
  infra: ['constructs', 'protocol', 'base'],
  policies: [],
  proxy: [],
  guest: ['base', 'protocol', 'proxy'],
  console: ['base/plain-text.ts', 'client/loopback-url.ts', 'client/streams', 'protocol/preview-words.ts'],
  client: [],
  integrations: [],
  agent: [],
  host: ['base', 'protocol', 'core', 'handlers', 'adapters', 'proxy'],
  'host/config': ['base', 'protocol', 'core', 'adapters'],
};

/** What wires every feature. */
const WIRING = ['handlers/features.ts', 'handlers/services.ts', 'core/records.ts', 'adapters/sql', 'host'];

/** Features that can be off: only `users` import what is inside, except what is open to all. */
const FEATURES: readonly Readonly<Record<'inside' | 'users' | 'open', readonly string[]>>[] = [
  {
    inside: ['core/editor', 'handlers/editor', 'adapters/editor', 'console/src/editor'],
    users: [...WIRING, 'console/src/pages'],
    open: [],
  },
  {
    inside: ['core/pages', 'handlers/pages', 'adapters/browser'],
    users: [...WIRING, 'handlers/mcp/tools/page-tools.ts'],
    open: [
      'core/pages/check-preview.ts',
      'core/pages/look-store.ts',
      'core/pages/page-browser.ts',
      'core/pages/page-cause.ts',
      'handlers/pages/page-dto.ts',
    ],
  },
  { inside: ['handlers/mcp'], users: WIRING, open: [] },
];

const MAX_COLUMNS = 100;
/** The last one: scripts of a shell, Python and YAML. */
const COMMENT = /^\s*(?:\/\/|\/?\*|#\s)/;
const SOURCES = ['ts', 'tsx', 'mts', 'js', 'mjs', 'cjs', 'py', 'sh', 'bash', 'css', 'yaml', 'yml', 'md'];
/** Quotes texts of earlier versions. */
const HISTORY = 'CHANGELOG.md';

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'((?:#|\.\.?\/)[^']+)'/g;

const WORD = new RegExp(`\\b(?:${WORDS.join('|')})\\b`, 'gi');

const root = process.argv[2] ?? join(import.meta.dirname, '..');
const imports = new Map<string, readonly string[]>();
const faults = sourceFiles().flatMap((file) => {
  const text = readFileSync(join(root, file), 'utf8');
  imports.set(
    file,
    [...text.matchAll(IMPORT)].map(([, to = '']) => targetOf(file, to)),
  );
  return [
    ...arrowFaults(file),
    ...featureFaults(file),
    ...commentFaults(file, text),
    ...wordFaults(file, text),
  ];
});
faults.push(...circleFaults());
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.exitCode = faults.length > 0 ? 1 : 0;

function sourceFiles(): string[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', ...SOURCES.map((each) => `*.${each}`)],
    { cwd: root, encoding: 'utf8' },
  );
  return listed.split('\n').filter((file) => file !== '' && existsSync(join(root, file)));
}

function arrowFaults(file: string): string[] {
  const imported = imports.get(file) ?? [];
  return Object.entries(ARROWS)
    .filter(([from]) => file.startsWith(`${from}/`))
    .flatMap(([from, allowed]) =>
      imported
        .filter((to) => !isIn(to, [from, ...allowed]))
        .map(
          (to) => `${file}: ${from} must not import ${to}; it may import ${allowed.join(', ') || 'nothing'}`,
        ),
    );
}

function featureFaults(file: string): string[] {
  if (!(topFolder(file) in ARROWS)) return [];
  return FEATURES.filter(({ inside, users }) => !isIn(file, [...inside, ...users])).flatMap(
    ({ inside, users, open }) =>
      (imports.get(file) ?? [])
        .filter((to) => isIn(to, inside) && !isIn(to, open))
        .map((to) => `${file}: only ${users.join(', ')} may import ${to}: its feature can be off`),
  );
}

/** Whether the path is one of these, or below one. */
function isIn(path: string, folders: readonly string[]): boolean {
  return folders.some((each) => path === each || path.startsWith(`${each}/`));
}

/** Imports, of types as well, that end where they began after files of other folders. */
function circleFaults(): string[] {
  const reached = new Map<string, ReadonlySet<string>>();
  const reachedFrom = (start: string): ReadonlySet<string> => {
    const known = reached.get(start);
    if (known !== undefined) return known;
    const files = new Set([start]);
    for (const file of files) for (const to of imports.get(file) ?? []) files.add(to);
    reached.set(start, files);
    return files;
  };
  return [...imports].flatMap(([file, targets]) =>
    targets
      .filter((to) => topFolder(file) in ARROWS && posix.dirname(to) !== posix.dirname(file))
      .filter((to) => reachedFrom(to).has(file))
      .map((to) => `${file}: ${to} imports it, too, if only through others`),
  );
}

function wordFaults(file: string, text: string): string[] {
  if (file === HISTORY) return [];
  const folder = topFolder(file);
  const isWhole = isPage(file) || FOLDERS.includes(folder);
  if (!isWhole && !COMMENT_FOLDERS.includes(folder)) return [];
  return text.split('\n').flatMap((line, index) => {
    if (!isWhole && !COMMENT.test(line)) return [];
    const words = [...line.matchAll(WORD)].map(([word]) => word.toLowerCase());
    return words.map(
      (word) => `${file}:${index + 1}: do not write "${word}"; build/word-list.ts has the list`,
    );
  });
}

function isPage(file: string): boolean {
  return file.endsWith('.md');
}

function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith('#')) return specifier.slice(1);
  return posix.join(posix.dirname(file), specifier);
}

function topFolder(path: string): string {
  return path.split('/', 1)[0] ?? '';
}

function commentFaults(file: string, text: string): string[] {
  if (isPage(file)) return [];
  return text
    .split('\n')
    .flatMap((line, index) =>
      line.length > MAX_COLUMNS && COMMENT.test(line) && !line.includes('://')
        ? [`${file}:${index + 1}: the comment has ${line.length} columns, the most is ${MAX_COLUMNS}`]
        : [],
    );
}
