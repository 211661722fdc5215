import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run } from '../../runs/run.ts';
import { syncFolder } from '../../node/sync-folder.ts';
import { plain } from '../plain.ts';
import type { Install } from './find-command.ts';
import type { Progress } from './progress.ts';

/** Timeout of an install in milliseconds: one without a network hangs. */
const INSTALL_MS = 600_000;
const LAST_LINES = 20;

/**
 * Installs a project's dependencies in the sandbox, unless the same lock file was installed before.
 * If that fails and this machine has node_modules, sends those instead.
 * @throws Error with the last lines
 */
export async function installDependencies(
  run: Run,
  folder: string,
  { command, makes, inputs }: Install,
  { progress, signal }: { readonly progress: Progress; readonly signal: AbortSignal },
): Promise<void> {
  const hash = createHash('sha256');
  for (const input of inputs) hash.update(await readFile(join(folder, input)));
  const digest = hash.digest('hex');
  const marker = `${makes}/.porthole-install`;
  const before = await run.exec(['cat', marker], { signal }).collect();
  if (before.stdout === digest) return;
  const mark = () => run.files.write(marker, digest, { signal });

  const { exitCode, stdout, stderr } = await progress.step(
    `Installing dependencies (${command})`,
    () => run.exec(command, { timeoutMs: INSTALL_MS, signal }).collect(),
    (result) => (result.exitCode === 0 ? 'Installed dependencies' : undefined),
  );
  if (exitCode === 0) return mark();

  const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  const said = lines.slice(-LAST_LINES).map((line) => `  ${plain(line)}`);
  const here = await stat(join(folder, makes)).catch(() => undefined);
  if (makes === 'node_modules' && here?.isDirectory() === true) {
    await progress.step(
      'Sending node_modules of this machine, because the install failed in the sandbox',
      () => syncFolder(run.sandbox, join(folder, makes), { to: makes, excludes: ['.cache/'], signal }),
      ({ sent }) => `Installing failed in the sandbox; sent node_modules of this machine (${sent} files)`,
    );
    return mark();
  }
  throw new Error(
    [
      `Installing dependencies failed: ${command} ended with code ${exitCode}.`,
      ...said,
      'The sandbox may have no network: see porthole doctor, or run the install here and try again.',
    ].join('\n'),
  );
}
