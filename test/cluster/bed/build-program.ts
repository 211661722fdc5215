import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from './command.ts';
import { buildName, isBuilt, programsFolder } from './program-cache.ts';
import type { Program } from './programs.ts';

const PROGRESS_MS = 15_000;

/** Tells a person what happens; one line at a time. */
export type Report = (line: string) => void;

/**
 * Builds a program into the cache unless it is there. An interrupted build leaves a `building-…` folder at most,
 * never a program; the next build of that program removes it. One at a time: the caller holds the lock.
 */
export async function buildProgram(program: Program, cache: string, report: Report): Promise<void> {
  if (isBuilt(program, cache)) return;
  const programs = programsFolder(cache);
  const work = join(programs, `building-${program.name}`);
  const source = join(work, 'source');
  const result = join(work, 'result');
  await rm(work, { recursive: true, force: true });
  await mkdir(result, { recursive: true });
  try {
    await cp(program.folder, source, { recursive: true });
    const moduleFolder = await replaceFile(program, source);
    await compile(program, source, join(result, program.name), report);
    for (const [name, kept] of Object.entries(program.keeps)) {
      await copyOpened(join(await moduleFolder(kept.module), kept.path), join(result, name));
    }
    await rename(result, join(programs, buildName(program)));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

type ModuleFolder = (module: string) => Promise<string>;

/** Puts the program's own version of one dependency's file in place; gives a look-up of modules' folders. */
async function replaceFile(program: Program, source: string): Promise<ModuleFolder> {
  const moduleFolder: ModuleFolder = async (module) => {
    const version = (await go(['list', '-m', '-f', '{{.Version}}', module], source)).trim();
    const answer = await go(['mod', 'download', '-json', `${module}@${version}`], source);
    return (JSON.parse(answer) as { Dir: string }).Dir;
  };
  if (program.replaces !== undefined) {
    const { module, file, by } = program.replaces;
    const copy = join(source, 'replaced');
    await copyOpened(await moduleFolder(module), copy);
    await cp(join(source, by), join(copy, file));
    await go(['mod', 'edit', '-replace', `${module}=./replaced`], source);
  }
  return moduleFolder;
}

async function compile(program: Program, source: string, target: string, report: Report): Promise<void> {
  const began = Date.now();
  let packages = 0;
  let downloads = 0;
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - began) / 1_000);
    report(`  ${program.name}: ${downloads} modules fetched, ${packages} packages compiled in ${seconds} s`);
  }, PROGRESS_MS);
  try {
    const variables = Object.entries(program.variables).map(([name, value]) => `-X ${name}=${value}`);
    const flags = ['-v', '-trimpath', '-buildvcs=false', '-ldflags', ['-s', '-w', ...variables].join(' ')];
    report(`building ${program.name} (the first time ${program.takes})`);
    await go(['build', ...flags, '-o', target, program.main], source, (text) => {
      for (const line of text.trimEnd().split('\n')) {
        if (line.startsWith('go: downloading ')) downloads += 1;
        else packages += 1;
      }
    });
    report(`built ${program.name} in ${Math.round((Date.now() - began) / 1_000)} s`);
  } finally {
    clearInterval(timer);
  }
}

/** Runs Go at low priority and without C, so that the program needs nothing of the machine that it runs on. */
async function go(args: readonly string[], cwd: string, onStderr?: (text: string) => void): Promise<string> {
  const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
  return command(['nice', '-n', '19', 'go', ...args], { cwd, env, ...(onStderr ? { onStderr } : {}) });
}

/** Files in Go's module cache are read-only; copies are not. */
async function copyOpened(from: string, to: string): Promise<void> {
  await command(['cp', '-r', '--no-preserve=mode', from, to]);
}
