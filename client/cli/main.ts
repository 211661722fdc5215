#!/usr/bin/env node
/** The `porthole` command. */
import { runCommand } from './run-command.ts';

const end = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // A second signal skips the cleanup.
    if (end.signal.aborted) process.exit(130);
    end.abort(new Error(`ended by ${signal}`));
  });
}
// A closed reader, such as `head`, is not an error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
}
const { stdin, stdout, stderr, env } = process;
process.exitCode = await runCommand(
  process.argv.slice(2),
  { stdin, stdout, stderr, environment: env },
  end.signal,
);
// Keepalives and closing terminals must not delay the exit.
stdin.destroy();
