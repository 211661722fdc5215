import type { Incoming } from './file-names.ts';

/**
 * The dropped files, including the contents of folders. Call it synchronously within the event: the
 * browser clears the data afterwards.
 */
export function droppedFiles(transfer: DataTransfer): Promise<readonly Incoming[]> {
  const roots = [...transfer.items]
    .filter(({ kind }) => kind === 'file')
    .map((item) => item.webkitGetAsEntry() ?? item.getAsFile())
    .filter((each) => each !== null);
  // A drop created by a script contains only files.
  if (roots.length === 0) return Promise.resolve(chosenFiles(transfer.files));
  return Promise.all(
    roots.map((root) =>
      root instanceof File ? Promise.resolve([{ path: root.name, file: root }]) : filesOf(root),
    ),
  ).then((found) => found.flat());
}

/** The files chosen in a dialog: single files, or a folder's with their paths. */
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
  // Browsers return at most a hundred entries per call.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return found;
    for (const each of some) found.push(...(await filesOf(each)));
  }
}
