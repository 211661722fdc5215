import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { PortholeError } from '#base/errors.ts';
import type { Clock, Owner } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { ArchiveError, shown } from '#base/tar/tar-header.ts';
import { TarValidator } from '#base/tar/validate-tar.ts';
import { END_OF_ARCHIVE, fitsTar, tarEntry, type TarFile } from '#base/tar/write-tar.ts';
import { type PackedSkill, readFrontMatter, skillError, type SkillRecord } from './skill-store.ts';

/** Most bytes of a skill as sent. */
export const MAX_PACKED_BYTES = 8_388_608;
/** Most bytes of a skill's tar: about a hundred times a large one. */
const MAX_UNPACKED_BYTES = 33_554_432;
const MAX_FILES = 1_000;
/** The longest skill name, which precedes every path when the skill is placed. */
const MAX_NAME = 'x'.repeat(64);

/**
 * The files of a skill, by path, from a tar that may be compressed by gzip. Accepts only files and
 * folders with printable names.
 * @throws PortholeError `invalid_request` for what `TarValidator` rejects, and if it is too large
 */
async function unpackSkill(packed: Buffer): Promise<readonly TarFile[]> {
  if (packed.length === 0) throw skillError('it is empty');
  const tar = packed[0] === 0x1f && packed[1] === 0x8b ? await decompress(packed) : packed;
  const files = new Map<string, { readonly isExecutable: boolean; readonly pieces: Buffer[] }>();
  let pieces: Buffer[] = [];
  const validator = new TarValidator({
    visitor: {
      entry({ name, type, mode }) {
        pieces = [];
        if (type === 'directory') return;
        if (type !== 'file') throw skillError(`${shown(name)} is a ${type}, not a regular file`);
        files.set(readable(name), { isExecutable: (mode & 0o100) !== 0, pieces });
        if (files.size > MAX_FILES) throw skillError(`it has more than ${MAX_FILES} files`);
      },
      contents: (piece) => void pieces.push(piece),
      padding: () => undefined,
    },
  });
  try {
    validator.push(tar);
    validator.end();
  } catch (error) {
    if (error instanceof ArchiveError) throw skillError(error.why);
    throw error;
  }
  return [...files]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, file]) => ({
      path,
      isExecutable: file.isExecutable,
      content: Buffer.concat(file.pieces),
    }));
}

async function decompress(packed: Buffer): Promise<Buffer> {
  try {
    return await unzip(packed, { maxOutputLength: MAX_UNPACKED_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw skillError(`unpacked it has more than ${MAX_UNPACKED_BYTES} bytes`);
    throw skillError('its gzip cannot be read');
  }
}

/**
 * The path as text, without `.` and doubled slashes.
 * @throws PortholeError `invalid_request`
 */
function readable(latin1: string): string {
  let path: string;
  try {
    path = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(latin1, 'latin1'));
  } catch {
    throw skillError(`the name ${shown(latin1)} is not UTF-8`);
  }
  if (/[\p{Cc}\\]/u.test(path)) {
    throw skillError(`the name ${shown(latin1)} has a control character or a backslash in it`);
  }
  path = path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
  if (!fitsTar(`${MAX_NAME}/${path}`)) throw skillError(`the name ${shown(latin1)} is too long`);
  return path;
}

interface PutSkillDeps {
  readonly records: Pick<Records, 'skills'>;
  readonly clock: Clock;
}

/** Most skills of one owner: a few hundred megabytes of the database. */
const MAX_OWN_SKILLS = 50;
const MAX_SHARED_SKILLS = 500;

const zip = promisify(gzip);

/**
 * Adds or replaces an owner's skill; returns whether it is new. The whole archive is validated
 * first, and rewritten: no byte of the client's archive is stored as is.
 * @param owner null: shared with all users
 * @throws PortholeError `invalid_request`, `quota_exceeded`
 */
export async function putSkill(
  { records, clock }: PutSkillDeps,
  name: string,
  owner: Owner | null,
  packed: Buffer,
): Promise<{ readonly skill: SkillRecord; readonly isNew: boolean }> {
  const files = await unpackSkill(packed);
  const about = files.find(({ path }) => path === 'SKILL.md');
  if (about === undefined) throw skillError('there is no SKILL.md at its root');
  const { name: named, description } = await readFrontMatter(about.content);
  if (named !== name) throw skillError(`SKILL.md names it ${named}, and the URL ${name}`);
  const tar = Buffer.concat(files.map((file) => tarEntry({ ...file, path: `${name}/${file.path}` })));
  const skill: SkillRecord = {
    name,
    owner,
    description,
    digest: sha256(tar),
    size: files.reduce((sum, { content }) => sum + content.length, 0),
    putAt: clock.now(),
    files: files.map(({ path, content }) => ({ path, size: content.length, sha256: sha256(content) })),
  };
  const most = owner === null ? MAX_SHARED_SKILLS : MAX_OWN_SKILLS;
  const done = await records.skills.put({ ...skill, archive: await zip(tar) }, most);
  if (done === 'too_many') {
    throw new PortholeError(
      'quota_exceeded',
      `There are ${most} ${owner === null ? 'shared skills' : 'skills of yours'} already, the maximum`,
      { remedy: 'delete one first.' },
    );
  }
  return { skill, isNew: done === 'added' };
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const unzip = promisify(gunzip);

/** A tar of the files of skills, one skill at a time. */
export async function* skillsArchive(skills: readonly PackedSkill[]): AsyncGenerator<Buffer> {
  for (const { archive } of skills) yield await unzip(archive);
  yield END_OF_ARCHIVE;
}
