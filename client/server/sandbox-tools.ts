import { PortholeError } from '../http/porthole-error.ts';
import { readAtMost } from '../streams/byte-streams.ts';
import type { Sandbox } from '../resources/sandbox.ts';
import { holdsSecret } from './secret-guard.ts';

/** The result of a tool, for the model. */
export interface ToolResult {
  /** The result, or after a failure what to do. */
  readonly text: string;
  readonly isError: boolean;
  /** After a failure: the API's code. */
  readonly code?: string;
}

/** A tool of an agent, in a form that every framework accepts. */
export interface SandboxTool {
  readonly name: 'read_file' | 'write_file' | 'exec_command';
  readonly description: string;
  /** JSON Schema (draft 2020-12) of the model's input. */
  readonly inputSchema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, object>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
  /**
   * Never rejects for errors of the model or of Porthole: these are results. Rejects when `signal`
   * aborts.
   */
  run(input: unknown, options?: { readonly signal?: AbortSignal | undefined }): Promise<ToolResult>;
}

/** Maximum bytes of a file for a model. */
const MAX_READ = 1_048_576;
/** Maximum bytes of each stream of a command for a model. */
const MAX_OUTPUT = 65_536;
const COMMAND_SECONDS = 120;
const MAX_SECONDS = 3_600;

function inputOf(
  properties: SandboxTool['inputSchema']['properties'],
  required: readonly string[],
): SandboxTool['inputSchema'] {
  return { type: 'object', properties, required, additionalProperties: false };
}

const PATH = { type: 'string', description: 'Absolute, or relative to /workspace.' };

export interface SandboxToolsOptions {
  /** Values that must never enter the sandbox: input that contains one is refused. */
  readonly secrets: readonly string[];
  /** The only programs that may run, if that is known and limited. */
  readonly commands?: readonly string[] | null | undefined;
}

/** Tools for a model to work in a sandbox. */
export function sandboxTools(
  sandbox: Sandbox,
  { secrets, commands }: SandboxToolsOptions,
): readonly [SandboxTool, SandboxTool, SandboxTool] {
  return [
    {
      name: 'read_file',
      description: `Read a text file of the sandbox, up to ${MAX_READ} bytes of it.`,
      inputSchema: inputOf({ path: PATH }, ['path']),
      run: (input, { signal } = {}) =>
        reportingErrors(signal, async () => {
          const path = textOf(input, 'path');
          const bytes = await readAtMost(await sandbox.files.stream(path, { signal }), MAX_READ + 1);
          const text = decode(bytes.subarray(0, MAX_READ));
          if (text === undefined) return wrong(`${path} is no text (UTF-8): look at it with a command.`);
          return done(bytes.length > MAX_READ ? `${text}\n[cut off after ${MAX_READ} bytes]` : text);
        }),
    },
    {
      name: 'write_file',
      description: 'Write a whole text file of the sandbox. Creates missing folders.',
      inputSchema: inputOf({ path: PATH, content: { type: 'string' } }, ['path', 'content']),
      run: (input, { signal } = {}) =>
        reportingErrors(signal, async () => {
          const path = textOf(input, 'path');
          const content = textOf(input, 'content');
          if (holdsSecret(`${path}\n${content}`, secrets)) return SECRET;
          await sandbox.files.write(path, content, { signal });
          return done(`Written: ${path}, ${new TextEncoder().encode(content).length} bytes.`);
        }),
    },
    {
      name: 'exec_command',
      description: `Run a command in the sandbox and return its exit code and output; at most ${COMMAND_SECONDS} seconds by default.${limitOf(commands)}`,
      inputSchema: inputOf(
        {
          command: {
            anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, minItems: 1 }],
            description: 'A line for bash, or a list of words to run without a shell.',
          },
          cwd: { type: 'string', description: 'Within /workspace, the default.' },
          timeout_seconds: { type: 'number', exclusiveMinimum: 0, maximum: MAX_SECONDS },
        },
        ['command'],
      ),
      run: (input, { signal } = {}) =>
        reportingErrors(signal, async () => {
          const argv = commandOf(input);
          const seconds = secondsOf(input);
          const cwd = fieldOf(input, 'cwd') === undefined ? undefined : textOf(input, 'cwd');
          if (holdsSecret([...argv, cwd ?? ''].join('\n'), secrets)) return SECRET;
          const command = sandbox.exec(argv, { cwd, timeoutMs: seconds * 1_000, signal });
          const { exitCode, stdout, stderr, truncated } = await command.collect({ maxBytes: MAX_OUTPUT });
          const parts = [
            `exit code ${exitCode}`,
            ...(stdout === '' ? [] : [`stdout:\n${stdout}`]),
            ...(stderr === '' ? [] : [`stderr:\n${stderr}`]),
            ...(truncated ? [`[each stream is cut off after ${MAX_OUTPUT} bytes]`] : []),
          ];
          return { text: parts.join('\n'), isError: exitCode !== 0 };
        }),
    },
  ];
}

function limitOf(commands: readonly string[] | null | undefined): string {
  return commands == null ? '' : ` Only these programs, given as a list of words: ${commands.join(', ')}.`;
}

const SECRET: ToolResult = {
  text: "Refused: this holds one of the server's own secrets, which never go into a sandbox. Leave it out.",
  isError: true,
  code: 'secret_refused',
};

/** Invalid input of the model. */
class InputError extends Error {}

async function reportingErrors(
  signal: AbortSignal | undefined,
  work: () => Promise<ToolResult>,
): Promise<ToolResult> {
  try {
    signal?.throwIfAborted();
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PortholeError) return { text: error.message, isError: true, code: error.code };
    if (error instanceof InputError || error instanceof TypeError) return wrong(error.message);
    throw error;
  }
}

function done(text: string): ToolResult {
  return { text, isError: false };
}

function wrong(text: string): ToolResult {
  return { text, isError: true, code: 'invalid_input' };
}

function fieldOf(input: unknown, field: string): unknown {
  const value =
    typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[field] : undefined;
  return value === null ? undefined : value;
}

function textOf(input: unknown, field: string): string {
  const value = fieldOf(input, field);
  if (typeof value === 'string') return value;
  throw new InputError(`${field} must be a string.`);
}

function commandOf(input: unknown): readonly string[] {
  const command = fieldOf(input, 'command');
  if (typeof command === 'string' && command.trim() !== '') return ['bash', '-c', command];
  if (Array.isArray(command) && command.length > 0 && command.every((word) => typeof word === 'string')) {
    return command;
  }
  throw new InputError('command must be a line for the shell, or a list of at least one word.');
}

function secondsOf(input: unknown): number {
  const seconds = fieldOf(input, 'timeout_seconds') ?? COMMAND_SECONDS;
  if (typeof seconds === 'number' && seconds > 0 && seconds <= MAX_SECONDS) return seconds;
  throw new InputError(`timeout_seconds must be a number above 0 and at most ${MAX_SECONDS}.`);
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    // Streaming, so that a character cut by the limit is not an error.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: bytes.length === MAX_READ,
    });
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
