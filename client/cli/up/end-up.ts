import { createInterface } from 'node:readline/promises';
import type { Sandbox } from '../../sandboxes/sandbox.ts';
import type { Context } from '../command.ts';
import type { Progress } from './progress.ts';

/** What remains: everything running, the files of a stopped sandbox, or nothing. */
export type Kept = 'run' | 'files' | 'nothing';

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

export async function endUp(sandbox: Sandbox, kept: Kept, progress: Progress): Promise<void> {
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
