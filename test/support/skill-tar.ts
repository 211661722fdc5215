import { END_OF_ARCHIVE, tarEntry } from '#base/tar/write-tar.ts';

/** The beginning of a SKILL.md. */
export function skillText(name: string, description = `What ${name} does`, body = ''): string {
  return `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n${body}`;
}

/** A tar of these files, by path; a name that ends in `!` is executable. */
export function tarOf(files: Readonly<Record<string, string | Uint8Array>>): Buffer {
  const entries = Object.entries(files).map(([path, content]) =>
    tarEntry({
      path: path.replace(/!$/, ''),
      isExecutable: path.endsWith('!'),
      content: Buffer.from(content),
    }),
  );
  return Buffer.concat([...entries, END_OF_ARCHIVE]);
}

/** A skill with these extra files. */
export function skillTar(name: string, files: Readonly<Record<string, string>> = {}): Buffer {
  return tarOf({ 'SKILL.md': skillText(name), ...files });
}
