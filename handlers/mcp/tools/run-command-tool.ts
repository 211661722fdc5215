import { z } from 'zod';
import { awaitNetworkRequests, type NetworkRequest } from '#core/network/network-questions.ts';
import { executeCommand } from '#core/processes/execute-command.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { publishCommand } from '#core/sandboxes/sandbox-event-publisher.ts';
import { checkpointAtCommand } from '../../sandboxes/checkpoint-triggers.ts';
import { blockedFrom, BlockedHostDto } from '../../sandboxes/blocked-hosts.ts';
import { KeptOutput, textsOf } from '../kept-output.ts';
import { defineTool, type ToolContext } from '../mcp-tool.ts';
import { linkToWhole } from '../run-resources.ts';
import { filePath, runId, runOf, sandboxOf } from './run-sandbox-tool.ts';

const DEFAULT_SECONDS = 60;

/** Commands that continue after their call, by id: only this process can see them run. */
const continuing = new Set<string>();

export function isContinuing(commandId: string): boolean {
  return continuing.has(commandId);
}

export const WaitingHostDto = z.object({
  request_id: z.string(),
  host: z.string(),
  port: z.number().int(),
});

export const runCommandTool = defineTool({
  name: 'run_command',
  title: 'Run a command',
  description:
    'Run a shell command in the sandbox and return its exit code and output (of long output the beginning and the end: write it to a file for read_file to see all). Package registries can be reached; other hosts are blocked and named in the answer, or the owner is asked: the call returns then, and the command continues. ' +
    'Start servers with start_server, not in the background of a command.',
  input: z.strictObject({
    run_id: runId,
    command: z.string().min(1).max(100_000).describe('A command line for sh'),
    cwd: filePath.optional().describe('Within /workspace, the default'),
    timeout_seconds: z
      .number()
      .min(0.001)
      .max(600)
      .default(DEFAULT_SECONDS)
      .describe('After this it is ended, with exit code 124'),
  }),
  output: z.object({
    exit_code: z
      .number()
      .int()
      .nullable()
      .describe('124 after the time limit, 128 + n after signal n, null while it runs'),
    stdout: z.string(),
    stderr: z.string(),
    timed_out: z.boolean(),
    left_out_bytes: z.number().int().describe('How much of the output is missing in its middle'),
    blocked: z.array(BlockedHostDto).optional().describe('Hosts that the network policy refused meanwhile'),
    command_id: z.string().optional().describe('Of a command that still runs, for process_output'),
    waiting_for: z.array(WaitingHostDto).optional().describe('Hosts that the owner is asked about'),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true },
  async run({ run_id, command, cwd, timeout_seconds }, context) {
    const { services, signal } = context;
    const run = await runOf(context, run_id);
    const { id, env } = await sandboxOf(context, run.id);
    await checkpointAtCommand(services, id, ['sh', '-c', command], signal);
    const blocked = blockedFrom(services, id);
    const attached = new AbortController();
    const abort = () => attached.abort(signal.reason);
    signal.addEventListener('abort', abort);
    const watching = new AbortController();
    try {
      const asked = hostsAskedAbout(context, run, watching.signal);
      const running = await executeCommand(
        services,
        id,
        { argv: ['sh', '-c', command], cwd, timeoutMs: timeout_seconds * 1_000, env },
        attached.signal,
      );
      publishCommand(services.publisher, id, [command], running, context.caller);
      const { process, exitCode, timedOut, detailId } = running;
      const out = new KeptOutput();
      const err = new KeptOutput();
      const finished = Promise.all([exitCode, out.read(process.stdout), err.read(process.stderr)]);
      const ended = await Promise.race([finished.then(([code]) => code), asked]);
      const { stdout, stderr } = textsOf(out, err);
      const data = {
        exit_code: typeof ended === 'number' ? ended : null,
        stdout: stdout.text,
        stderr: stderr.text,
        timed_out: timedOut(),
        left_out_bytes: stdout.missing + stderr.missing,
      };
      const said = [data.stdout, data.stderr === '' ? '' : `stderr:\n${data.stderr}`].filter(
        (each) => each !== '',
      );
      if (typeof ended !== 'number') {
        continuing.add(detailId);
        // Its output is read and dropped here; the guest keeps it.
        const over = () => continuing.delete(detailId);
        finished.then(over, over);
        return {
          data: { ...data, command_id: detailId, waiting_for: ended.map(toWaitingHost) },
          text: [...said, `[${waitingText(ended, detailId, timeout_seconds)}]`].join('\n'),
        };
      }
      const refused = await blocked();
      const how = data.timed_out ? `ended after ${timeout_seconds} s, its time limit` : `exit code ${ended}`;
      const refusals = (refused.blocked ?? []).map(
        ({ host, port, rule, hint }) => `[${host}:${port} was blocked (${rule}). ${hint}]`,
      );
      return {
        data: { ...data, ...refused },
        text: [...said, ...refusals, `[${how}]`].join('\n'),
        whole:
          data.left_out_bytes === 0 ? undefined : await linkToWhole(context, run.id, 'commands', detailId),
      };
    } finally {
      watching.abort();
      signal.removeEventListener('abort', abort);
    }
  },
});

/** Resolves once the owner is asked about a host. A failed query does not fail the command. */
async function hostsAskedAbout(
  { services }: ToolContext,
  run: RunRecord,
  signal: AbortSignal,
): Promise<readonly NetworkRequest[]> {
  try {
    const asked = await awaitNetworkRequests(services, run, signal);
    if (asked.length > 0) return asked;
  } catch (err) {
    services.log.warn({ err, run_id: run.id }, 'network requests not read');
  }
  return new Promise(() => undefined);
}

export function toWaitingHost({ requestId, host, port }: NetworkRequest): z.infer<typeof WaitingHostDto> {
  return { request_id: requestId, host, port };
}

function waitingText(asked: readonly NetworkRequest[], commandId: string, seconds: number): string {
  const hosts = asked.map(({ host, port, requestId }) => `${host}:${port} (request ${requestId})`).join(', ');
  return (
    `the command still runs, for ${seconds} s at most: it waits until the owner allows ${hosts}. ` +
    'Ask the person to decide in the console or with `porthole approve`; the connection is refused after a minute. ' +
    `Then read its output: process_output with process_id ${commandId}`
  );
}
