import { documentId } from './document-links.ts';

/** The documents of this build by their id, each loaded when it is opened. */
export const DOCUMENTS = byId(
  import.meta.glob<string>(
    [
      '../../../docs/*.md',
      '../../../docs/{start,guides,concepts,reference}/*.md',
      '../../../client/README.md',
      '../../../CHANGELOG.md',
    ],
    { query: '?raw', import: 'default' },
  ),
);

function byId(files: Readonly<Record<string, () => Promise<string>>>) {
  const documents = Object.entries(files).map(([file, load]) => {
    const path = file.replace(/^(?:\.\.\/)+/, '');
    return [documentId(path), { path, load }] as const;
  });
  return new Map(documents);
}
