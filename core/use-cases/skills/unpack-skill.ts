import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ArchiveError } from '../../rules/archive/archive-error.ts';
import { shown } from '../../rules/archive/tar-header.ts';
import { TarValidator } from '../../rules/archive/tar-validator.ts';
import { fitsTar, type TarFile } from '../../rules/archive/write-tar.ts';
import { skillError } from '../../rules/skills/skill-error.ts';

/** A skill as it is sent, in bytes. */
export const MAX_PACKED_BYTES = 8_388_608;
/** The tar of a skill, in bytes: some hundred times what a large one has. */
const MAX_UNPACKED_BYTES = 33_554_432;
const MAX_FILES = 1_000;
/** The folder of the skill stands before it. */
const LONGEST_NAME = 'x'.repeat(64);

const unzip = promisify(gunzip);

/**
 * The files of a skill, by path, out of a tar that may be compressed by gzip. Nothing but files and folders is taken, of names that every tool can print.
 * @throws PortholeError `invalid_request` for whatever the judge of archives refuses, and for what is too large
 */
export async function unpackSkill(packed: Buffer): Promise<readonly TarFile[]> {
  if (packed.length === 0) throw skillError('it is empty');
  const tar = packed[0] === 0x1f && packed[1] === 0x8b ? await decompress(packed) : packed;
  const files = new Map<string, { readonly isExecutable: boolean; readonly pieces: Buffer[] }>();
  let pieces: Buffer[] = [];
  const validator = new TarValidator({
    visitor: {
      entry({ name, type, mode }) {
        pieces = [];
        if (type === 'directory') return;
        if (type !== 'file') throw skillError(`${shown(name)} is a ${type}, and no plain file`);
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
  if (!fitsTar(`${LONGEST_NAME}/${path}`)) throw skillError(`the name ${shown(latin1)} is too long`);
  return path;
}
