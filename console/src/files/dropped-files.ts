import type { Incoming } from './file-names.ts';

/**
 * What was dropped, folders with all that is in them. To be called within the event: the browser
 * forgets it afterwards.
 */
export function droppedFiles(transfer: DataTransfer): Promise<readonly Incoming[]> {
  const roots = [...transfer.items]
    .filter(({ kind }) => kind === 'file')
    .map((item) => item.webkitGetAsEntry() ?? item.getAsFile())
    .filter((each) => each !== null);
  // A drop that a program made has files alone.
  if (roots.length === 0) return Promise.resolve(chosenFiles(transfer.files));
  return Promise.all(
    roots.map((root) =>
      root instanceof File ? Promise.resolve([{ path: root.name, file: root }]) : filesOf(root),
    ),
  ).then((found) => found.flat());
}

/** What was chosen in a dialog: a file, or a folder with the paths in it. */
export function chosenFiles(list: Iterable<File>): readonly Incoming[] {
  return [...list].map((file) => ({
    path: file.webkitRelativePath === '' ? file.name : file.webkitRelativePath,
    file,
  }));
}

async function filesOf(entry: FileSystemEntry): Promise<Incoming[]> {
  const path = entry.fullPath.slice(1);
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    );
    return [{ path, file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: Incoming[] = [];
  // A browser tells a hundred at a time.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return found;
    for (const each of some) found.push(...(await filesOf(each)));
  }
}
