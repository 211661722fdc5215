import { PortholeError } from '#core/errors.ts';
import type { ExecCommand } from '#core/sandboxes/sandbox-provider.ts';

/** A command with all defaults filled in. */
export interface CheckedCommand {
  readonly argv: ExecCommand['argv'];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: boolean;
  readonly tty: { readonly cols: number; readonly rows: number } | null;
}

/** Linux accepts 2 MB of arguments and environment together. */
const MAX_BYTES = 2 * 1024 * 1024;

/** @throws PortholeError `invalid_request` for a command that no system call accepts */
export function checkCommand({
  argv,
  cwd = '/workspace',
  env = {},
  stdin = false,
  tty,
}: ExecCommand): CheckedCommand {
  const refuse = (what: string): never => {
    throw new PortholeError('invalid_request', what);
  };
  if (!cwd.startsWith('/')) refuse(`cwd ${cwd}: must be absolute.`);
  const texts = [...argv, cwd, ...Object.entries(env).flat()];
  if (texts.some((text) => text.includes('\0'))) {
    refuse('A zero byte in the command, its cwd or its environment: remove it.');
  }
  const wrong = Object.keys(env).find((name) => name === '' || name.includes('='));
  if (wrong !== undefined) {
    refuse(`Environment variable ${JSON.stringify(wrong)}: a name has no "=" and is not empty.`);
  }
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > MAX_BYTES) {
    refuse(
      `A command of ${bytes} bytes with its environment: at most ${MAX_BYTES}. Pass what is long through stdin or a file.`,
    );
  }
  if (
    tty !== undefined &&
    ![tty.cols, tty.rows].every((size) => Number.isInteger(size) && size >= 1 && size <= 65_535)
  ) {
    refuse(`Terminal of ${tty.cols} columns and ${tty.rows} rows: both must be from 1 to 65535.`);
  }
  return { argv, cwd, env, stdin, tty: tty ?? null };
}
