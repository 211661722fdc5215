import { as, type Callable } from './runs.ts';

/** One event of an exec stream, in wire format. */
export interface ExecEvent {
  readonly event: string;
  readonly data: string;
}

/** The result of a command, assembled from its events. */
export interface CommandResult {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exitCode: number | undefined;
  readonly events: readonly ExecEvent[];
}

/**
 * Parses a whole exec stream; throws on anything but events (`event: x`, `data: y`, an empty line)
 * and the heartbeat comment.
 */
export function readEvents(text: string): ExecEvent[] {
  const frames = text.split('\n\n');
  if (frames.pop() !== '') throw new Error(`the stream ends in the middle of an event: ${text.slice(-80)}`);
  const events = frames.filter((frame) => frame !== ':');
  return events.map((frame) => {
    const parts = /^event: ([a-z]+)\ndata: ([^\n]*)$/.exec(frame);
    if (parts === null) throw new Error(`not an event: ${JSON.stringify(frame.slice(0, 200))}`);
    return { event: parts[1] ?? '', data: parts[2] ?? '' };
  });
}

/** Runs a command in a sandbox to its end. */
export async function execute(
  porthole: Callable,
  sandboxId: string,
  argv: readonly string[],
  { token, ...more }: { readonly token?: string; readonly timeout_ms?: number; readonly cwd?: string } = {},
): Promise<CommandResult> {
  const answer = await porthole.call('POST', `/v1/sandbox/${sandboxId}/exec`, {
    body: { argv, ...more },
    ...as(token),
  });
  if (answer.status !== 200) throw new Error(`no exec: ${answer.status} ${answer.text}`);
  const events = readEvents(answer.text);
  const bytesOf = (name: string) =>
    Buffer.concat(
      events.filter(({ event }) => event === name).map(({ data }) => Buffer.from(data, 'base64')),
    );
  const exit = events.find(({ event }) => event === 'exit');
  return {
    stdout: bytesOf('stdout'),
    stderr: bytesOf('stderr'),
    exitCode: exit && (JSON.parse(exit.data) as { exit_code: number }).exit_code,
    events,
  };
}

/**
 * Starts a background web server in a sandbox that responds with `says` to everything; resolves
 * once it listens.
 */
export async function serve(
  porthole: Callable,
  sandboxId: string,
  port: number,
  says: string,
  token?: string,
): Promise<void> {
  const program = `require('node:http').createServer((q, r) => r.end(${JSON.stringify(says)})).listen(${port}, '127.0.0.1', () => require('node:fs').writeFileSync('up-${port}', ''))`;
  const script = `node -e "$1" >/dev/null 2>&1 </dev/null & n=0; while [ ! -e up-${port} ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done; [ -e up-${port} ]`;
  const { exitCode, stderr } = await execute(
    porthole,
    sandboxId,
    ['sh', '-c', script, 'sh', program],
    as(token),
  );
  if (exitCode !== 0) throw new Error(`no server on port ${port}: ${stderr.toString()}`);
}
