import { PortholeError } from '#base/errors.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { Page } from '#base/reads.ts';

export interface SkillFile {
  /** Relative to the skill's folder. */
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** 64 hex. */
  readonly sha256: string;
}

/** A skill, as lists show it. */
export interface SkillSummary {
  /** `[a-z0-9]+(-[a-z0-9]+)*`, at most 64 characters. */
  readonly name: string;
  /** Null: shared with all users. */
  readonly owner: Owner | null;
  /** Tells the model when to use it, at most 1024 characters. */
  readonly description: string;
  /** Hash of the content, 64 hex. */
  readonly digest: string;
  /** All files together, in bytes. */
  readonly size: number;
  readonly putAt: Date;
}

export interface SkillRecord extends SkillSummary {
  /** By path. */
  readonly files: readonly SkillFile[];
}

/** With its archive: gzip of tar entries `{name}/{path}`, without the end-of-archive blocks. */
export interface PackedSkill extends SkillRecord {
  readonly archive: Uint8Array;
}

/** A skill that a sandbox was made with. */
export interface SandboxSkill {
  readonly name: string;
  /** Digest of the version placed last; null: none yet. */
  readonly digest: string | null;
  /**
   * Its files that were not replaced, because the user changed them: relative to
   * `/workspace/skills`, at most 100.
   */
  readonly kept: readonly string[];
}

export interface SkillRecords {
  /**
   * Adds the skill, or replaces the owner's skill of that name. Does nothing if the owner has
   * `most` others.
   */
  put(skill: PackedSkill, most: number): Promise<'added' | 'replaced' | 'too_many'>;
  /** The named skills that the owner may use, unordered. The owner's skill hides a shared one. */
  find(owner: Owner, names: readonly string[]): Promise<readonly SkillSummary[]>;
  /** Like `find`, with their files and archives. */
  load(owner: Owner, names: readonly string[]): Promise<readonly PackedSkill[]>;
  /** The owner's, else the shared one. */
  get(owner: Owner, name: string): Promise<SkillRecord | undefined>;
  /**
   * The owner's skills, and the shared ones with other names; by name. `after`: the last name of
   * the page before.
   */
  list(
    owner: Owner,
    page: { readonly limit: number; readonly after?: string | undefined },
  ): Promise<Page<SkillSummary>>;
  /** Deletes the owner's skill, or with null the shared one; returns whether it existed. */
  delete(owner: Owner | null, name: string): Promise<boolean>;
}

/** The name of a skill, and of its folder (Agent Skills specification). */
export const SKILL_NAME = /^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

export const SKILL_NAME_RULE =
  'must be 1 to 64 lower-case letters, digits or "-", without "-" at the start or the end or twice in a row';

/** The error for a rejected skill. */
export function skillError(why: string): PortholeError {
  return new PortholeError('invalid_request', `The skill is refused: ${why}.`, {
    remedy: "Send a tar of the skill's folder with SKILL.md at its root: tar -C pdf -cf - .",
  });
}

/** In bytes. The fields of the specification take a few hundred. */
const MAX_FRONT_MATTER = 16_384;
const MAX_DESCRIPTION = 1_024;

interface FrontMatter {
  readonly name: string;
  readonly description: string;
}

/**
 * Reads the front matter of SKILL.md: plain YAML between two lines `---`. Ignores keys other than
 * `name` and `description`, which are for agents.
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
    throw skillError('the front matter of SKILL.md is not a mapping');
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

/** YAML without tags, anchors and duplicate keys. */
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
