import { createInterface } from 'node:readline/promises';
import type { Sandbox } from '../../resources/sandbox.ts';
import type { Context } from '../command.ts';
import type { Progress } from './progress.ts';

/** What remains: everything running, the files of a stopped sandbox, or nothing. */
type Kept = 'run' | 'files' | 'nothing';

const ANSWERS: Readonly<Record<string, Kept>> = { '': 'files', s: 'files', k: 'run', d: 'nothing' };

/**
 * Asks the user; without a terminal, or at a second Ctrl-C, it keeps the files.
 */
export async function askWhatToKeep({ streams }: Context, progress: Progress): Promise<Kept> {
  const { stdin, stderr } = streams;
  if (progress.isJson || !stdin.isTTY || !stderr.isTTY) return 'files';
  const asking = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await asking.question('\n[S]top and keep the files, [k]eep it running, or [d]elete it? ');
    return ANSWERS[answer.trim().slice(0, 1).toLowerCase()] ?? 'files';
  } finally {
    asking.close();
  }
}

export async function finishUp(sandbox: Sandbox, kept: Kept, progress: Progress): Promise<void> {
  if (kept === 'run') {
    await progress.say(`Still running. Stop it: porthole stop ${sandbox.id}`);
  } else if (kept === 'files') {
    await sandbox.stop();
    await progress.say('Stopped. The files stay: porthole up brings it back, at the same URL.');
  } else {
    await sandbox.delete();
    await progress.say('Deleted.');
  }
  await progress.event('ended', { kept });
}

export interface FailedUp {
  readonly isKept: boolean;
  /** Whether this command has made the sandbox. */
  readonly isNew: boolean;
  /** Whether the preview has served. */
  readonly isShown: boolean;
  readonly isInterrupted: boolean;
}

/** Stops the sandbox after a failure. Deletes a new one if its preview has never served. */
export async function undoUp(sandbox: Sandbox, failed: FailedUp, progress: Progress): Promise<void> {
  if (failed.isKept) return finishUp(sandbox, 'run', progress);
  if (failed.isInterrupted) return finishUp(sandbox, 'files', progress);
  if (failed.isNew && !failed.isShown) {
    await sandbox.delete();
    await progress.say('Removed the sandbox. To look into it after a failure, use --keep.');
    return progress.event('ended', { kept: 'nothing' });
  }
  await sandbox.stop();
  const since = failed.isNew ? 'has your files' : 'is from an earlier up';
  await progress.say(
    `Stopped. Sandbox ${sandbox.id} ${since}, so it is kept; porthole delete ${sandbox.id} removes it.`,
  );
  return progress.event('ended', { kept: 'files' });
}
