import type { Readable } from 'node:stream';
import { z } from 'zod';
import { executeCommand } from '#core/processes/execute-command.ts';
import { publishCommand } from '#core/sandboxes/sandbox-event-publisher.ts';
import { blockedFrom, BlockedHostDto } from '../../sandboxes/blocked-hosts.ts';
import { defineTool } from '../mcp-tool.ts';
import { linkToWhole } from '../run-resources.ts';
import { filePath, runId, sandboxOf } from './run-sandbox-tool.ts';

/** Bytes kept of each stream: its beginning, and its end, which has the errors. */
const FIRST = 4 * 1024;
const LAST = 12 * 1024;

/** Characters of the JSON of both streams, which escapes control characters. */
const MOST_JSON = 31_000;

/** The beginning and the end of a stream. */
interface KeptOutput {
  readonly first: Buffer;
  readonly last: Buffer;
  /** Bytes of the stream. */
  readonly size: number;
}

/**
 * Reads a stream to its end and keeps its beginning and its end.
 * @throws errors of the stream
 */
async function keptOutput(stream: Readable): Promise<KeptOutput> {
  let first = Buffer.alloc(0);
  let last = Buffer.alloc(0);
  let size = 0;
  for await (const part of stream as AsyncIterable<Buffer>) {
    size += part.length;
    const room = FIRST - first.length;
    if (room > 0) first = Buffer.concat([first, part.subarray(0, room)]);
    if (part.length <= room) continue;
    last = Buffer.concat([last, part.subarray(room)]).subarray(-LAST);
  }
  return { first, last, size };
}

/** The text, of which a share is kept; and how many bytes it leaves out in its middle. */
function textOf({ first, last, size }: KeptOutput, share: number) {
  const begin = first.subarray(0, FIRST * share);
  const end = last.subarray(Math.max(0, last.length - Math.floor(LAST * share)));
  const missing = size - begin.length - end.length;
  const gap = missing === 0 ? '' : `\n… ${missing} bytes left out …\n`;
  return { text: `${begin.toString()}${gap}${end.toString()}`, missing };
}

/** As much of both as fits. */
function textsOf(stdout: KeptOutput, stderr: KeptOutput) {
  for (let share = 1; ; share *= 0.9) {
    const texts = { stdout: textOf(stdout, share), stderr: textOf(stderr, share) };
    if (JSON.stringify([texts.stdout.text, texts.stderr.text]).length <= MOST_JSON) return texts;
  }
}

const DEFAULT_SECONDS = 60;

export const runCommandTool = defineTool({
  name: 'run_command',
  title: 'Run a command',
  description:
    'Run a shell command in the sandbox of a run and return its exit code and output (of long output the beginning and the end: write it to a file and read that with read_file to see all). Package registries can be reached; for other hosts the owner may be asked, or they are blocked, and named in the answer. ' +
    'Start servers with start_server, not in the background of a command.',
  input: z.strictObject({
    run_id: runId,
    command: z.string().min(1).max(100_000).describe('A command line for sh'),
    cwd: filePath.optional().describe('Where it runs, within /workspace. Default: /workspace'),
    timeout_seconds: z
      .number()
      .positive()
      .max(600)
      .default(DEFAULT_SECONDS)
      .describe('After this it is ended, with exit code 124'),
  }),
  output: z.object({
    exit_code: z.number().int().describe('124 after the time limit, 128 + n after signal n'),
    stdout: z.string(),
    stderr: z.string(),
    timed_out: z.boolean(),
    left_out_bytes: z.number().int().describe('How much of the output is missing in its middle'),
    blocked: z.array(BlockedHostDto).optional().describe('Hosts that the network policy refused meanwhile'),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true },
  async run({ run_id, command, cwd, timeout_seconds }, context) {
    const { services, signal } = context;
    const { id, env } = await sandboxOf(context, run_id);
    const blocked = blockedFrom(services, id);
    const running = await executeCommand(
      services,
      id,
      { argv: ['sh', '-c', command], cwd, timeoutMs: timeout_seconds * 1_000, env },
      signal,
    );
    publishCommand(services.publisher, id, [command], running, context.caller);
    const { process, exitCode, timedOut } = running;
    const [out, err, code] = await Promise.all([
      keptOutput(process.stdout),
      keptOutput(process.stderr),
      exitCode,
    ]);
    const { stdout, stderr } = textsOf(out, err);
    const data = {
      exit_code: code,
      stdout: stdout.text,
      stderr: stderr.text,
      timed_out: timedOut(),
      left_out_bytes: stdout.missing + stderr.missing,
      ...(await blocked()),
    };
    const how = data.timed_out ? `ended after ${timeout_seconds} s, its time limit` : `exit code ${code}`;
    const said = [data.stdout, data.stderr === '' ? '' : `stderr:\n${data.stderr}`].filter(
      (each) => each !== '',
    );
    const refused = (data.blocked ?? []).map(
      ({ host, port, rule, hint }) => `[${host}:${port} was blocked (${rule}). ${hint}]`,
    );
    return {
      data,
      text: [...said, ...refused, `[${how}]`].join('\n'),
      whole:
        data.left_out_bytes === 0
          ? undefined
          : await linkToWhole(context, run_id, 'commands', running.detailId),
    };
  },
});
