import { readFileSync } from 'node:fs';
import { join } from 'node:path';

let sessions: string | undefined;

/**
 * The command of a shell that runs `sessions.bash` with these arguments. The text is an argument:
 * as a file it would stay open in commands, and be named in the messages of bash.
 */
export function scriptCommand([shell, ...args]: readonly [string, ...string[]]): [string, ...string[]] {
  sessions ??= readFileSync(join(import.meta.dirname, 'sessions.bash'), 'utf8').replace(
    /^ *(?:#.*)?\n/gm,
    '',
  );
  return [shell, '-c', sessions, shell, ...args];
}
