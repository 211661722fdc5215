import type { Owner } from './owner.ts';
import type { Page } from './page.ts';

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

/** With what makes its files: gzip of tar entries `{name}/{path}`, without the end of an archive. */
export interface PackedSkill extends SkillRecord {
  readonly archive: Uint8Array;
}

/** A skill that a sandbox was made with. */
export interface SandboxSkill {
  readonly name: string;
  /** Of what was placed last; null: nothing yet. */
  readonly digest: string | null;
  /** Files of it that were left as they are, because they are not as they were placed: below `/workspace/skills`, at most 100. */
  readonly kept: readonly string[];
}

export interface SkillRecords {
  /** Adds it, or replaces its owner's of that name; nothing happens where the owner has `most` others. */
  put(skill: PackedSkill, most: number): Promise<'added' | 'replaced' | 'too_many'>;
  /** Those among `names` that the owner may use: the own one, else everybody's. In no order. */
  find(owner: Owner, names: readonly string[]): Promise<readonly SkillSummary[]>;
  /** The same, with their files and archives. */
  load(owner: Owner, names: readonly string[]): Promise<readonly PackedSkill[]>;
  /** The one that the owner may use. */
  get(owner: Owner, name: string): Promise<SkillRecord | undefined>;
  /** Own ones, and those of everybody that no own one stands before; by name. `after`: the last name of the page before. */
  list(
    owner: Owner,
    page: { readonly limit: number; readonly after?: string | undefined },
  ): Promise<Page<SkillSummary>>;
  /** That very one; whether there was one. */
  delete(owner: Owner | null, name: string): Promise<boolean>;
}
