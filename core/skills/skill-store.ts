import { PortholeError } from '../errors.ts';
import type { Owner } from '../shared/clock-and-ids.ts';
import type { Page } from '../shared/reads.ts';

/** A file of a skill. */
export interface SkillFile {
  /** Below the skill's folder. */
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** 64 hex. */
  readonly sha256: string;
}

/** What is told of a skill in lists. */
export interface SkillSummary {
  /** `[a-z0-9]+(-[a-z0-9]+)*`, at most 64 characters. */
  readonly name: string;
  /** Null: everybody's. */
  readonly owner: Owner | null;
  /** For the model that is to choose it, at most 1024 characters. */
  readonly description: string;
  /** 64 hex: another one for another content. */
  readonly digest: string;
  /** All files together, in bytes. */
  readonly size: number;
  readonly putAt: Date;
}

export interface SkillRecord extends SkillSummary {
  /** By path. */
  readonly files: readonly SkillFile[];
}

/**
 * With what makes its files: gzip of tar entries `{name}/{path}`, without the end of an archive.
 */
export interface PackedSkill extends SkillRecord {
  readonly archive: Uint8Array;
}

/** A skill that a sandbox was made with. */
export interface SandboxSkill {
  readonly name: string;
  /** Of what was placed last; null: nothing yet. */
  readonly digest: string | null;
  /**
   * Files of it that were left as they are, because they are not as they were placed: below
   * `/workspace/skills`, at most 100.
   */
  readonly kept: readonly string[];
}

export interface SkillRecords {
  /**
   * Adds it, or replaces its owner's of that name; nothing happens where the owner has `most`
   * others.
   */
  put(skill: PackedSkill, most: number): Promise<'added' | 'replaced' | 'too_many'>;
  /** Those among `names` that the owner may use: the own one, else everybody's. In no order. */
  find(owner: Owner, names: readonly string[]): Promise<readonly SkillSummary[]>;
  /** The same, with their files and archives. */
  load(owner: Owner, names: readonly string[]): Promise<readonly PackedSkill[]>;
  /** The one that the owner may use. */
  get(owner: Owner, name: string): Promise<SkillRecord | undefined>;
  /**
   * Own ones, and those of everybody that no own one stands before; by name. `after`: the last name
   * of the page before.
   */
  list(
    owner: Owner,
    page: { readonly limit: number; readonly after?: string | undefined },
  ): Promise<Page<SkillSummary>>;
  /** That very one; whether there was one. */
  delete(owner: Owner | null, name: string): Promise<boolean>;
}

/** The name of a skill, and of its folder (Agent Skills specification). */
export const SKILL_NAME = /^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

export const SKILL_NAME_RULE =
  'must be 1 to 64 lower-case letters, digits or "-", which neither begins, ends nor stands twice';

/** A skill that is not taken, and why. */
export function skillError(why: string): PortholeError {
  return new PortholeError(
    'invalid_request',
    `The skill is refused: ${why}. Send a tar of the skill's folder with SKILL.md at its root: tar -C pdf -cf - .`,
  );
}

/** In bytes. What the specification has for it takes some hundred. */
const MAX_FRONT_MATTER = 16_384;
const MAX_DESCRIPTION = 1_024;

/** What SKILL.md says of its skill. */
interface FrontMatter {
  readonly name: string;
  readonly description: string;
}

/**
 * Reads the front matter of SKILL.md: YAML between two lines `---`, of plain data. Keys besides
 * `name` and `description` are the agents' business.
 * @throws PortholeError `invalid_request`
 */
export async function readFrontMatter(content: Uint8Array): Promise<FrontMatter> {
  let text: string;
  try {
    // A little more than the bound, as whole characters: what follows is prose.
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw skillError('SKILL.md is not UTF-8');
  }
  const block = /^---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m.exec(text.slice(0, MAX_FRONT_MATTER));
  if (block?.index !== 0 || block[1] === undefined) {
    throw skillError(
      `SKILL.md does not begin with a front matter, YAML between two lines of ---, of at most ${MAX_FRONT_MATTER} characters`,
    );
  }
  const data = await plainYaml(block[1]);
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw skillError('the front matter of SKILL.md is no mapping of keys to values');
  }
  const { name, description } = data as Record<string, unknown>;
  if (typeof name !== 'string' || !SKILL_NAME.test(name)) {
    throw skillError(`name in SKILL.md ${SKILL_NAME_RULE}, got ${shown(name)}`);
  }
  if (typeof description !== 'string' || description.trim() === '' || description.length > MAX_DESCRIPTION) {
    throw skillError(`description in SKILL.md must be a text of 1 to ${MAX_DESCRIPTION} characters`);
  }
  return { name, description: description.trim() };
}

/** No tags, no anchors, no key twice: nothing but what is written there. */
async function plainYaml(text: string): Promise<unknown> {
  const { parseDocument } = await import('yaml');
  let why: string;
  try {
    const document = parseDocument(text, { schema: 'core', uniqueKeys: true, prettyErrors: false });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem === undefined) return document.toJS({ maxAliasCount: 0 }) as unknown;
    why = problem.message;
  } catch (error) {
    why = (error as Error).message;
  }
  throw skillError(`the front matter of SKILL.md cannot be read (${why.slice(0, 200)})`);
}

function shown(value: unknown): string {
  return value === undefined ? 'none' : (JSON.stringify(value) ?? 'none').slice(0, 100);
}
