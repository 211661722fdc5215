import { cleanEditorSnapshots } from '#handlers/editor/clean-editor-snapshots.ts';
import { primePool, reap, runLifecyclePass } from '#handlers/ops/scheduled.ts';
import { openFunction } from './open-function.ts';
import { scheduledFunction } from './scheduled-function.ts';

/** The functions that run on a schedule. */
export const reaper = scheduledFunction(openFunction, reap);
export const lifecycle = scheduledFunction(openFunction, runLifecyclePass);
export const snapshotsClean = scheduledFunction(openFunction, cleanEditorSnapshots);
export const warmPool = scheduledFunction(openFunction, primePool);
