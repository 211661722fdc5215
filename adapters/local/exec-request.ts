import { PortholeError } from '#core/errors.ts';
import type { ExecCommand } from '#core/ports/sandbox-provider.ts';
import type { InitRequest } from './init/frames.ts';

type Exec = Extract<InitRequest, { op: 'exec' }>;

/**
 * A command as an init takes it.
 * @throws PortholeError `invalid_request` for what no system call would take
 */
export function readCommand({ argv, cwd = '/workspace', env = {}, stdin = false, tty }: ExecCommand): Exec {
  const refuse = (what: string): never => {
    throw new PortholeError('invalid_request', what);
  };
  if (!cwd.startsWith('/')) refuse(`cwd ${cwd}: must be absolute.`);
  if ([...argv, cwd, ...Object.values(env)].some((text) => text.includes('\0'))) {
    refuse('A zero byte in the command, its cwd or its environment: remove it.');
  }
  const wrong = Object.keys(env).find((name) => !/^[^=\0]+$/.test(name));
  if (wrong !== undefined)
    refuse(`Environment variable ${JSON.stringify(wrong)}: a name has no "=" and is not empty.`);
  if (
    tty !== undefined &&
    ![tty.cols, tty.rows].every((size) => Number.isInteger(size) && size >= 1 && size <= 65_535)
  ) {
    refuse(`Terminal of ${tty.cols} columns and ${tty.rows} rows: both must be from 1 to 65535.`);
  }
  return { op: 'exec', argv, cwd, env, stdin, tty: tty ?? null };
}
