import { unsaved } from '../parts/unsaved.ts';
import { addressOfFile, movedPath } from './file-names.ts';

/** By the file's address: the edited text, and the text it was changed from. */
export const texts = unsaved<{ readonly text: string; readonly saved: string }>();

/** Keeps unsaved edits of files that were moved or renamed. */
export function moveUnsaved(sandboxId: string, from: string, to: string): void {
  const [before, after] = [addressOfFile(sandboxId, from), addressOfFile(sandboxId, to)];
  texts.rename((address) => movedPath(address, before, after));
}
