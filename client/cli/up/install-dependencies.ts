import { createHash } from 'node:crypto';
import { readdir, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import type { Run } from '../../resources/run.ts';
import { syncFolder } from '../../node/sync-folder.ts';
import { lastLines } from '../print.ts';
import type { CommandResult } from '../../resources/command.ts';
import type { Install } from './find-command.ts';
import { provideTool, type Tool, withTool } from './package-manager.ts';
import { lastLineOf, type Progress, type Report } from './progress.ts';

/** Timeout of an install in milliseconds: one without a network hangs. */
const INSTALL_MS = 600_000;
/** Characters of an output that are kept for an error. */
const MAX_KEPT_CHARS = 65_536;

/** Folders of a virtual environment on this machine. */
const VENVS = ['.venv', 'venv'];

interface Means {
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/**
 * Puts the tool of a project into the sandbox, unless it is there.
 * @throws Error with the last lines
 */
export async function installTool(run: Run, tool: Tool, { progress, signal }: Means): Promise<void> {
  await progress.step(
    `Installing ${tool.package}`,
    async (report) => {
      const result = await runShown(run, provideTool(tool), report, signal);
      if (result.exitCode !== 0) {
        throw failure(
          `${tool.package} cannot be installed: npm ended with code ${result.exitCode}.`,
          result,
          'If the sandbox has no network, run porthole up --network packages.',
        );
      }
    },
    () => undefined,
  );
}

function failure(words: string, { stdout, stderr }: CommandResult, remedy: string): Error {
  return new Error([words, ...lastLines(`${stdout}\n${stderr}`), remedy].join('\n'));
}

/** Runs a line in the sandbox's shell, and reports its last line as it comes. */
async function runShown(run: Run, line: string, report: Report, signal: AbortSignal): Promise<CommandResult> {
  const take = lastLineOf(report);
  const kept = { stdout: '', stderr: '' };
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  let exitCode = -1;
  for await (const event of run.exec(line, { timeoutMs: INSTALL_MS, signal })) {
    if (event.type === 'exit') exitCode = event.exitCode;
    else {
      take(event.data);
      const text = decoders[event.type].decode(event.data, { stream: true });
      kept[event.type] = `${kept[event.type]}${text}`.slice(-MAX_KEPT_CHARS);
    }
  }
  return { exitCode, ...kept, truncated: false };
}

/**
 * Installs a project's dependencies in the sandbox, unless the same lock file was installed before.
 * If that fails, or the sandbox has no network, sends those of this machine instead.
 * @throws Error with the last lines
 */
export async function installDependencies(
  run: Run,
  folder: string,
  install: Install,
  { progress, signal, tool }: Means & { readonly tool: Tool | undefined },
): Promise<void> {
  const { command, variables, makes, inputs } = install;
  const hash = createHash('sha256');
  for (const input of inputs) hash.update(await readFile(join(folder, input)));
  const digest = hash.digest('hex');
  const marker = `${makes}/.porthole-install`;
  const before = await run.exec(['cat', marker], { signal }).collect();
  if (before.stdout === digest) return;
  const mark = () => run.files.write(marker, digest, { signal });
  const here = await installedHere(folder, makes);
  const sendHere = async (why: string): Promise<void> => {
    await progress.step(
      `Sending ${here} of this machine, because ${why}`,
      () =>
        makes === 'node_modules'
          ? sendPackages(run, folder, signal)
          : sendVenv(run, folder, here ?? '', signal),
      (sent) => `Sent ${here} of this machine (${sent} files), because ${why}`,
    );
    await mark();
  };
  const { network } = run.sandbox.info ?? (await run.sandbox.refresh({ signal }));
  if (network === 'off' && here !== undefined) return sendHere('the sandbox has no network');

  const line = withTool(variables ? `export ${variables}; ${command}` : command, tool);
  const isInstalled = await progress.step(
    `Installing dependencies (${command})`,
    async (report) => {
      const result = await runShown(run, line, report, signal);
      if (result.exitCode !== 0 && here === undefined) {
        throw failure(
          `Installing dependencies failed: ${command} ended with code ${result.exitCode}.`,
          result,
          'If the sandbox has no network, run porthole up --network packages, or run the install here and try again.',
        );
      }
      return result.exitCode === 0;
    },
    (isDone) => (isDone ? 'Installed dependencies' : undefined),
  );
  await (isInstalled ? mark() : sendHere('installing failed in the sandbox'));
}

/** The folder with the same dependencies on this machine, relative to the project. */
async function installedHere(folder: string, makes: Install['makes']): Promise<string | undefined> {
  for (const name of makes === '.venv' ? VENVS : makes === 'node_modules' ? [makes] : []) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found?.isDirectory() === true) return name;
  }
  return undefined;
}

/** Sends node_modules, with the links to workspaces of the project. */
async function sendPackages(run: Run, folder: string, signal: AbortSignal): Promise<number> {
  const to = 'node_modules';
  const from = await realpath(join(folder, to));
  const { sent, skipped } = await syncFolder(run.sandbox, from, { to, excludes: ['/.cache/'], signal });
  for (const { path } of skipped) {
    const target = await readlink(join(from, path)).catch(() => undefined);
    if (target === undefined || target.startsWith('/')) continue;
    const inside = relative(folder, resolve(folder, to, path, '..', target));
    if (inside.startsWith('..')) continue;
    await run.exec(['ln', '-sfn', '--', target, `/workspace/${to}/${path}`], { signal }).text();
  }
  return sent;
}

/** Makes a virtual environment, and sends the packages of this machine's into it. */
async function sendVenv(run: Run, folder: string, venv: string, signal: AbortSignal): Promise<number> {
  const make = 'python3 -m venv --without-pip --clear .venv && ls .venv/lib';
  const version = (await run.exec(make, { signal }).text()).trim();
  const packages = `lib/${version}/site-packages`;
  const here = join(folder, venv, packages);
  if ((await stat(here).catch(() => undefined))?.isDirectory() !== true) {
    const own = (await readdir(join(folder, venv, 'lib')).catch((): string[] => [])).join(', ');
    throw new Error(
      `The sandbox has ${version}, and ${venv} on this machine is for ${own === '' ? 'another system' : own}: make it with ${version}, or let the sandbox install packages: porthole up --network packages.`,
    );
  }
  const options = { to: `.venv/${packages}`, excludes: ['__pycache__/'], full: true, signal };
  return (await syncFolder(run.sandbox, here, options)).sent;
}
