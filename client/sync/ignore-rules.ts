/**
 * Excludes paths of a folder by lines in `.gitignore` syntax: `*`, `?`, `[a-z]`, `**` between
 * slashes, a trailing `/` for folders alone, a leading or inner `/` to anchor, `!` to include
 * again, `#` for comments, `\` to escape. The last matching line decides. Files in an excluded
 * folder cannot be included again. `.gitignore` files of subfolders and a user's git settings are
 * not read.
 */
export class IgnoreRules {
  readonly #rules: readonly Rule[];

  constructor(lines: readonly string[]) {
    this.#rules = lines.flatMap((line) => parse(line) ?? []);
  }

  /** @param path relative, with `/`; query its parent folders first */
  ignores(path: string, isFolder: boolean): boolean {
    const rule = this.#rules.findLast(
      ({ pattern, foldersOnly }) => (isFolder || !foldersOnly) && pattern.test(path),
    );
    return rule !== undefined && !rule.takesIn;
  }
}

interface Rule {
  readonly pattern: RegExp;
  readonly foldersOnly: boolean;
  readonly takesIn: boolean;
}

function parse(line: string): Rule | undefined {
  // Trailing spaces count only if escaped.
  let text = line.replace(/\r$/, '').replace(/(?<!\\)((?:\\\\)*) +$/, '$1');
  if (text === '' || text.startsWith('#')) return undefined;
  const takesIn = text.startsWith('!');
  if (takesIn) text = text.slice(1);
  const foldersOnly = text.endsWith('/');
  if (foldersOnly) text = text.slice(0, -1);
  const isPlaced = text.includes('/');
  if (text.startsWith('/')) text = text.slice(1);
  const source = text === '' ? undefined : sourceOf(text);
  if (source === undefined) return undefined;
  return { pattern: new RegExp(`^${isPlaced ? '' : '(?:.*/)?'}${source}$`, 'su'), foldersOnly, takesIn };
}

/** The pattern as a regular expression; undefined if it matches nothing. */
function sourceOf(pattern: string): string | undefined {
  let source = '';
  const characters = Array.from(pattern);
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] as string;
    if (character === '*') {
      let end = at;
      while (characters[end + 1] === '*') end += 1;
      const isWhole =
        end > at &&
        (at === 0 || characters[at - 1] === '/') &&
        (end === characters.length - 1 || characters[end + 1] === '/');
      if (!isWhole || end - at > 1) source += '[^/]*';
      else if (end === characters.length - 1) source += '.+';
      else {
        source += '(?:.*/)?';
        end += 1;
      }
      at = end;
    } else if (character === '?') source += '[^/]';
    else if (character === '[') {
      const end = setEnd(characters, at);
      if (end === -1) return undefined;
      source += setSource(characters.slice(at + 1, end));
      at = end;
    } else if (character === '\\') {
      at += 1;
      const next = characters[at];
      if (next === undefined) return undefined;
      source += literal(next);
    } else source += literal(character);
  }
  return source;
}

function literal(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/-]/u, '\\$&');
}

/** End of a set; a `]` right after its beginning belongs to it. */
function setEnd(characters: readonly string[], from: number): number {
  let at = from + 1;
  if (characters[at] === '!' || characters[at] === '^') at += 1;
  if (characters[at] === ']') at += 1;
  for (; at < characters.length; at += 1) {
    if (characters[at] === '\\') at += 1;
    else if (characters[at] === ']') return at;
  }
  return -1;
}

function setSource(inside: readonly string[]): string {
  const isNot = inside[0] === '!' || inside[0] === '^';
  const ranges: string[] = [];
  let at = isNot ? 1 : 0;
  const next = (): string => {
    if (inside[at] === '\\' && at < inside.length - 1) at += 1;
    at += 1;
    return inside[at - 1] as string;
  };
  while (at < inside.length) {
    const first = next();
    if (inside[at] !== '-' || at === inside.length - 1) ranges.push(literal(first));
    else {
      at += 1;
      const last = next();
      // git takes a reversed range as its first character.
      ranges.push(first <= last ? `${literal(first)}-${literal(last)}` : literal(first));
    }
  }
  // A set never matches a slash.
  return isNot ? `[^/${ranges.join('')}]` : `(?!/)[${ranges.join('')}]`;
}
