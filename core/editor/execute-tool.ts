import type { Readable } from 'node:stream';
import { PortholeError } from '#base/errors.ts';
import { type EditorOptions, readEntrypoint } from './editor-limits.ts';
import type {
  JsonValue,
  ToolLanguage,
  ToolRunError,
  ToolRunErrorCode,
  ToolRunOutcome,
  ToolSource,
} from './editor-store.ts';
import type { ExecExit, Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { isToolError, MAX_RESULT_BYTES, readToolResult, stored, type ToolResult } from './tool-result.ts';
import { readAtMost } from '#base/reads.ts';
import { runToEnd } from '../processes/collect-command.ts';
import { readWorkspaceFile } from '../files/workspace-files.ts';

/** Bytes to keep of each output of a run. The rest is dropped. */
const MAX_KEPT_BYTES = 1024 * 1024;
/** Maximum bytes of both outputs together. Code that prints more is killed. */
const MAX_PRINTED_BYTES = 32 * 1024 * 1024;

export interface ExecuteToolDeps {
  readonly sandboxes: Sandboxes;
  readonly toolPrograms: () => Promise<ToolPrograms>;
  readonly editor: EditorOptions;
}

/** One run of a tool's code in a sandbox. */
export interface ToolExecution {
  readonly sandboxId: string;
  readonly runId: string;
  readonly source: ToolSource;
  readonly inputs: JsonValue;
  /** Context for the code, besides its inputs; the sandbox adds the folders. */
  readonly context: Readonly<Record<string, JsonValue>>;
}

export interface Executed {
  readonly outcome: ToolRunOutcome;
  /** State to store for the next run; undefined: keep the earlier state. */
  readonly state: JsonValue;
  /** Whether processes of the run may remain, which only stopping the sandbox ends. */
  readonly isCutOff: boolean;
}

/**
 * The programs that run a tool in its sandbox: `start` and `end` for `sh -c`, `python` for
 * `python3 -c`, `node` for `node -e`.
 */
export interface ToolPrograms {
  readonly start: string;
  readonly end: string;
  readonly python: string;
  readonly node: string;
}

/** Exit codes of `start`. */
const NO_INTERPRETER = 169;
const NOT_LAUNCHED = 170;

/**
 * Environment variable with the run's id. Every process that a run starts inherits it, so leftovers
 * are found in any session, also where a sandbox sees other processes.
 */
const MARK = 'PORTHOLE_TOOL_RUN';

/** Timeout of the clean-up, in milliseconds; the sandbox's end removes the rest. */
const TIDIED_WITHIN_MS = 10_000;

/** Memory that Node reserves for code and does not use, in MiB: it counts as data. */
const NODE_RESERVES_MIB = 576;

/** Runs a tool's function once. Always ends within the limit plus some seconds, with an outcome. */
export async function executeTool(
  { sandboxes, toolPrograms, editor }: ExecuteToolDeps,
  execution: ToolExecution,
  signal?: AbortSignal,
): Promise<Executed> {
  const { sandboxId, runId, source, inputs, context } = execution;
  const { runTimeoutMs, runMemoryMebibytes } = editor;
  const programs = await toolPrograms();
  const { command, kibibytes } = commandOf(programs, source.language, runMemoryMebibytes);
  const process = await sandboxes.exec(
    sandboxId,
    {
      argv: ['sh', '-c', programs.start, 'sh', runId, String(kibibytes), ...command],
      env: { [MARK]: runId },
      stdin: true,
    },
    signal,
  );
  let cut: 'timed_out' | 'too_much_output' | undefined;
  const end = (why: typeof cut) => {
    cut ??= why;
    process.kill('SIGKILL');
  };
  let printed = 0;
  const count = (bytes: number) => {
    printed += bytes;
    if (printed > MAX_PRINTED_BYTES) end('too_much_output');
  };
  const stdout = keepOutput(process.stdout, count);
  const stderr = keepOutput(process.stderr, count);
  const late = setTimeout(() => end('timed_out'), runTimeoutMs);
  // The process may exit before it reads all input (EPIPE); its exit code reports that.
  process.stdin?.on('error', () => undefined);
  const { module, name } = readEntrypoint(source.entrypoint);
  process.stdin?.end(JSON.stringify({ module, name, source: source.sourceCode, inputs, context }));
  const exit = await process.exited.finally(() => clearTimeout(late));
  const result =
    cut === undefined
      ? await resultOf(sandboxes, execution, exit, runMemoryMebibytes, signal)
      : cutOff(cut, runTimeoutMs);
  await runToEnd(
    sandboxes,
    sandboxId,
    { argv: ['sh', '-c', programs.end, 'sh', runId, `${MARK}=${runId}`] },
    signal,
    TIDIED_WITHIN_MS,
  ).catch(() => undefined);
  const said = { stdout: stdout.text(), stderr: stderr.text() };
  if (isToolError(result)) {
    return { outcome: { ...failure(result), ...said }, state: undefined, isCutOff: cut !== undefined };
  }
  const { outputs, nextActions, state } = result;
  return {
    outcome: { status: 'succeeded', outputs, nextActions, error: null, ...said },
    state,
    isCutOff: false,
  };
}

export function failure(error: ToolRunError): ToolRunOutcome {
  return { status: 'failed', outputs: null, nextActions: [], error, stdout: '', stderr: '' };
}

export function toolError(code: ToolRunErrorCode, message: string): ToolRunError {
  return { code, message, traceback: null };
}

function commandOf(programs: ToolPrograms, language: ToolLanguage, mebibytes: number) {
  if (language === 'python') {
    return {
      command: ['python3', '-u', '-X', 'utf8', '-c', programs.python],
      kibibytes: mebibytes * 1024,
    };
  }
  return {
    command: ['node', `--max-old-space-size=${mebibytes}`, '-e', programs.node, '--'],
    kibibytes: (mebibytes + NODE_RESERVES_MIB) * 1024,
  };
}

function cutOff(cut: 'timed_out' | 'too_much_output', limitMs: number): ToolRunError {
  return cut === 'timed_out'
    ? toolError('timed_out', `It did not return within ${limitMs / 1_000} seconds and was stopped.`)
    : toolError(
        'too_much_output',
        `It printed more than ${MAX_PRINTED_BYTES / 1024 / 1024} MiB and was stopped: print less, or write to a file.`,
      );
}

async function resultOf(
  sandboxes: Sandboxes,
  { sandboxId, runId, source }: ToolExecution,
  exit: ExecExit,
  mebibytes: number,
  signal: AbortSignal | undefined,
): Promise<ToolResult | ToolRunError> {
  let written: Buffer | undefined;
  try {
    const file = `/workspace/runs/${runId}/result.json`;
    const { content } = await readWorkspaceFile({ sandboxes }, sandboxId, file, signal);
    written = await readAtMost(content, MAX_RESULT_BYTES);
  } catch (error) {
    if (!(error instanceof PortholeError)) throw error;
    if (error.code === 'workspace_read_not_found') return withoutResult(exit, source.language, mebibytes);
    if (error.status >= 500) throw error;
    return toolError('bad_result', 'The result cannot be read and was replaced.');
  }
  if (written === undefined) {
    return toolError(
      'bad_result',
      `Its result is longer than ${MAX_RESULT_BYTES} bytes as JSON: return less, or keep it in a file of the session.`,
    );
  }
  return readToolResult(written.toString('utf8'));
}

/** Signals with which Node exits when it runs out of memory. */
const OUT_OF_MEMORY: ReadonlySet<string> = new Set(['SIGABRT', 'SIGTRAP', 'SIGKILL', 'SIGSEGV', 'SIGILL']);
const BY_SIGNAL = new Map([132, 133, 134, 137, 139].map((code) => [code, `signal ${code - 128}`]));

function withoutResult({ code, signal }: ExecExit, language: ToolLanguage, mebibytes: number): ToolRunError {
  if (code === NO_INTERPRETER) {
    const program = language === 'python' ? 'python3' : 'node';
    return toolError(
      'no_interpreter',
      `There is no ${program} in the sandbox: ask an administrator for an image with it.`,
    );
  }
  if (code === NOT_LAUNCHED) {
    return toolError(
      'sandbox_failed',
      'It could not start in its sandbox: the disk is full, or files of an earlier run are in the way. Run again.',
    );
  }
  const killed = signal ?? BY_SIGNAL.get(code);
  if (killed !== undefined && (signal === undefined || OUT_OF_MEMORY.has(signal))) {
    return toolError(
      'no_result',
      `It was ended by ${killed} before it returned: most likely it took more than ${mebibytes} MiB of memory.`,
    );
  }
  return toolError(
    'no_result',
    `It ended with ${signal ?? `exit code ${code}`} before it returned a result.`,
  );
}

/**
 * Reads a stream to its end, and keeps the first MiB. `text` is for after that.
 * @param printed called with the length of each chunk
 */
function keepOutput(stream: Readable, printed: (bytes: number) => void): { text(): string } {
  const chunks: Buffer[] = [];
  let kept = 0;
  let dropped = 0;
  stream.on('data', (chunk: Buffer) => {
    printed(chunk.length);
    const part = chunk.subarray(0, MAX_KEPT_BYTES - kept);
    if (part.length > 0) chunks.push(part);
    kept += part.length;
    dropped += chunk.length - part.length;
  });
  stream.on('error', () => undefined);
  return {
    text() {
      const text = stored(Buffer.concat(chunks).toString('utf8'));
      return dropped === 0 ? text : `${text}\n[${dropped} more bytes were dropped]\n`;
    },
  };
}
