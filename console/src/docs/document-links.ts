/** The id of the first document, which lists the others. */
export const INDEX = 'docs';

/** The name of a document's file, or that of its folder if the file is its README. */
export function documentId(path: string): string {
  const [file = '', folder] = path.split('/').toReversed();
  const name = file.endsWith('.md') ? file.slice(0, -'.md'.length) : '';
  return (name === 'README' && folder !== undefined ? folder : name).toLowerCase();
}

export function documentAddress(id: string): string {
  return id === INDEX ? '/docs' : `/docs/${id}`;
}

/** What a link of the document at `from` leads to: a path below the project, and a heading. */
export function linkTarget(from: string, href: string): { readonly path: string; readonly hash: string } {
  const { pathname, hash } = new URL(href, `file:///${from}`);
  return { path: pathname.slice(1), hash };
}

/** The anchor of a heading, as GitHub makes it. */
export function headingId(words: string): string {
  return words
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}
