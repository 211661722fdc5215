import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { PackedSkill } from '../../ports/skills.ts';
import { END_OF_ARCHIVE, tarEntry } from '../../rules/archive/write-tar.ts';

const unzip = promisify(gunzip);

/** What the script that places skills reads, one skill at a time. */
export async function* skillsArchive(skills: readonly PackedSkill[]): AsyncGenerator<Buffer> {
  const lines = skills.flatMap(({ name, files }) =>
    files.map(({ path, sha256 }) => `${sha256}  ${name}/${path}\n`),
  );
  yield tarEntry({ path: '.new', isExecutable: false, content: Buffer.from(lines.join('')) });
  for (const { archive } of skills) yield await unzip(archive);
  yield Buffer.concat([END_OF_ARCHIVE, Buffer.from('whole\n')]);
}
