import type { RunningCommand } from './execute-command.ts';
import type { SandboxNews } from './sandbox-news.ts';

/** Tells of a command once it has ended, by what was asked for, with a space between its words. One whose end nobody learns is not told of. */
export function tellCommand(
  { tell }: Pick<SandboxNews, 'tell'>,
  sandboxId: string,
  argv: readonly string[],
  { exitCode }: RunningCommand,
): void {
  exitCode.then(
    (code) => tell(sandboxId, 'exec', { command: argv.join(' '), exit_code: code }),
    () => undefined,
  );
}
