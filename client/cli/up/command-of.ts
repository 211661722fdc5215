import { type Context, UsageError } from '../command.ts';
import { readPort } from '../read-values.ts';
import {
  commandOfImage,
  findCommand,
  type FoundCommand,
  installOf,
  inVenv,
  LOOKED_FOR,
  type Project,
  scriptsOf,
  SeveralApps,
  toolFor,
} from './find-command.ts';
import { needsRestart } from './reloads.ts';
import { readProject } from './read-project.ts';

/**
 * The command that is given, or that is found in the folder, with what it needs.
 * @throws UsageError
 */
export async function commandOf({ given }: Context, folder: string): Promise<FoundCommand> {
  const project = await readProject(folder);
  const port = given.text('port') === undefined ? undefined : readPort(given.text('port') ?? '');
  if (given.rest !== undefined) {
    if (given.rest.length === 0)
      throw new UsageError('no command after --: write it there, e.g. porthole up . -- node server.js');
    const command = given.rest.length === 1 ? (given.rest[0] ?? '') : given.rest.map(quote).join(' ');
    const install = given.is('install') ? installOf(project) : undefined;
    return {
      kind: command,
      command: install?.makes === '.venv' ? inVenv(command) : command,
      port: port ?? 3000,
      cwd: '',
      install,
      tool: toolFor(command, project),
      needsRestart: needsRestart(command, scriptsOf(project)),
    };
  }
  const found = commandIn(project, folder, given.positionals[0] ?? '.');
  if (found !== undefined) {
    const install = given.is('no-install') ? undefined : found.install;
    return { ...found, port: port ?? found.port, install };
  }
  const shown = given.positionals[0] ?? '.';
  const line = commandOfImage(project.texts.get('Dockerfile') ?? '');
  if (line !== undefined) {
    throw new UsageError(
      `found no command in ${folder} but that of its Dockerfile, and up builds no images. Try it in Porthole's own image, with what it needs: porthole up ${shown} --install -- ${quote(line)}`,
    );
  }
  const list = LOOKED_FOR.map((each) => `  - ${each}`).join('\n');
  throw new UsageError(
    `found no command in ${folder}. Looked for:\n${list}\nGive it one: porthole up ${shown} --port 3000 -- node server.js`,
  );
}

function commandIn(project: Project, folder: string, shown: string): FoundCommand | undefined {
  try {
    return findCommand(project);
  } catch (error) {
    if (!(error instanceof SeveralApps)) throw error;
    const lines = error.commands
      .map((each) => `  porthole up ${shown} --install -- ${quote(each)}`)
      .join('\n');
    throw new UsageError(`${folder} has ${error.commands.length} apps. Choose one:\n${lines}`);
  }
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
