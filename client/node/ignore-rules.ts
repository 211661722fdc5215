import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import ignore, { type Ignore } from 'ignore';

/** The lines of one file, relative to the folder `below`, which is '' or ends with a slash. */
interface RuleSet {
  readonly below: string;
  readonly rules: Ignore;
}

/**
 * Excludes paths of a folder as git does: by the `.gitignore` of each folder, then by the
 * `.portholeignore` of the root and by `excludes`. The last matching line decides. Files in an
 * excluded folder cannot be included again. A user's git settings are not read.
 */
export class IgnoreRules {
  readonly #root: string;
  /** Outermost first. */
  readonly #folders: readonly RuleSet[];
  readonly #last: RuleSet;

  private constructor(root: string, folders: readonly RuleSet[], last: RuleSet) {
    this.#root = root;
    this.#folders = folders;
    this.#last = last;
  }

  /** The rules for the entries of the root itself. */
  static async read(root: string, excludes: readonly string[] = []): Promise<IgnoreRules> {
    const last = rulesOf(await textOf(join(root, '.portholeignore'))).add(excludes);
    const all = new IgnoreRules(root, [{ below: '', rules: rulesOf('.git') }], { below: '', rules: last });
    return all.inside('');
  }

  /** The rules for the entries of a folder that these include; '' is the root. */
  async inside(folder: string): Promise<IgnoreRules> {
    const text = await textOf(join(this.#root, folder, '.gitignore'));
    const folders = folder === '' ? this.#folders : this.#folders.map((set) => including(set, folder));
    const last = folder === '' ? this.#last : including(this.#last, folder);
    if (text === '') return new IgnoreRules(this.#root, folders, last);
    const below = folder === '' ? '' : `${folder}/`;
    return new IgnoreRules(this.#root, [...folders, { below, rules: rulesOf(text) }], last);
  }

  /** @param path of an entry of that folder, relative to the root, with `/` */
  ignores(path: string, isFolder: boolean): boolean {
    for (const { below, rules } of [this.#last, ...this.#folders.toReversed()]) {
      const { ignored, unignored } = rules.test(path.slice(below.length) + (isFolder ? '/' : ''));
      if (ignored || unignored) return ignored;
    }
    return false;
  }
}

/** Whether a file, or a folder above it, is excluded. */
export async function isExcluded(rules: IgnoreRules, file: string): Promise<boolean> {
  let inside = rules;
  for (let end = file.indexOf('/'); end !== -1; end = file.indexOf('/', end + 1)) {
    const folder = file.slice(0, end);
    if (inside.ignores(folder, true)) return true;
    inside = await inside.inside(folder);
  }
  return inside.ignores(file, false);
}

function rulesOf(text: string): Ignore {
  return ignore({ ignorecase: false }).add(text);
}

/**
 * The package excludes everything in an excluded folder. Where another file includes that folder
 * again, only lines that match an entry itself count.
 */
function including(set: RuleSet, folder: string): RuleSet {
  const path = folder.slice(set.below.length);
  if (!set.rules.ignores(`${path}/`)) return set;
  const pattern = `!/${path.replaceAll(/[\\*?[\]! #]/g, '\\$&')}/`;
  return { ...set, rules: rulesOf('').add(set.rules).add([pattern]) };
}

/** Like git, follows no link from an ignore file. */
async function textOf(file: string): Promise<string> {
  const facts = await lstat(file).catch((error: unknown) => {
    const { code } = error as { readonly code?: unknown };
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
  });
  return facts?.isFile() ? readFile(file, 'utf8') : '';
}
