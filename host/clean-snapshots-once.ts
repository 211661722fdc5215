/**
 * `npm run snapshots:clean`: one pass over the editor's snapshots; the next pass retries what it
 * could not remove.
 */
import { cleanEditorSnapshots } from '#handlers/editor/clean-editor-snapshots.ts';
import { runOnce } from './run-once.ts';

await runOnce(cleanEditorSnapshots, {
  done: 'A Porthole is running on this data folder, and removes expired snapshots by itself every ten minutes.',
});
