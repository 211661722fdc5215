/**
 * `npm run snapshots:clean`: one pass over the editor's snapshots; what could not be removed, the
 * next one finds again.
 */
import { cleanEditorSnapshots } from '#handlers/ops/scheduled.ts';
import { runOnce } from './run-once.ts';

await runOnce(cleanEditorSnapshots, {
  done: 'A Porthole is running on this data folder, and removes expired snapshots by itself every ten minutes.',
});
