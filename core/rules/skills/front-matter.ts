import { SKILL_NAME, SKILL_NAME_RULE } from './skill-name.ts';
import { skillError } from './skill-error.ts';

/** In bytes. What the specification has for it takes some hundred. */
const MAX_FRONT_MATTER = 16_384;
const MAX_DESCRIPTION = 1_024;

/** What SKILL.md says of its skill. */
export interface FrontMatter {
  readonly name: string;
  readonly description: string;
}

/**
 * Reads the front matter of SKILL.md: YAML between two lines `---`, of plain data. Keys besides `name` and `description` are the agents' business.
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
