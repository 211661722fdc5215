import { globSync, statSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from '#test/cluster/fixture/command.ts';
import { oncePerRun } from './once-per-run.ts';

const ROOT = join(import.meta.dirname, '../..');
const SOURCES =
  '{adapters,agent,base,build,console,constructs,core,guest,handlers,host,protocol,proxy}/**/*.*';

/** What `npm run build` has made; undefined if a source has changed since. */
function currentBuild(): string | undefined {
  const folder = join(ROOT, 'dist/functions');
  const builtAt = statSync(join(folder, 'functions.json'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = globSync([SOURCES, 'package-lock.json'], { cwd: ROOT, exclude: ['*/dist/**'] });
  return sources.every((file) => statSync(join(ROOT, file)).mtimeMs < builtAt) ? folder : undefined;
}

/** For all suites of a run. */
async function build(target: string): Promise<void> {
  const current = currentBuild();
  if (current !== undefined) await cp(current, target, { recursive: true });
  else await command([process.execPath, join(ROOT, 'build/main.ts'), target]);
}

/** The folder of the functions as `npm run build` makes them. */
export function builtFunctions(): Promise<string> {
  return oncePerRun('functions', build);
}
