import type { RunningCommand } from './execute-command.ts';
import type { SandboxEventPublisher } from './sandbox-event-publisher.ts';

/** Tells of a command once it has ended, by what was asked for, with a space between its words. One whose end nobody learns is not told of. */
export function publishCommand(
  { publish }: Pick<SandboxEventPublisher, 'publish'>,
  sandboxId: string,
  argv: readonly string[],
  { exitCode }: RunningCommand,
): void {
  exitCode.then(
    (code) => publish(sandboxId, 'exec', { command: argv.join(' '), exit_code: code }),
    () => undefined,
  );
}
