import { spawn } from 'node:child_process';

export interface CommandOptions {
  /** Written to standard input, which is otherwise empty. */
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Called with each piece of standard error as it comes. */
  readonly onStderr?: (text: string) => void;
  /** File descriptors that the command inherits from 3 on. */
  readonly inherit?: readonly number[];
}

/** Runs a program to its end. Gives its standard output; throws with the end of its standard error when it fails. */
export async function command(argv: readonly string[], options: CommandOptions = {}): Promise<string> {
  const [program = '', ...args] = argv;
  const { input = '', env, cwd, onStderr, inherit = [] } = options;
  const child = spawn(program, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe', ...inherit] });
  let out = '';
  let err = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err = (err + text).slice(-4_000);
    onStderr?.(text);
  });
  // A program that ends without reading its input is judged by its exit status, not by the broken pipe.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  const ended = await new Promise<number | string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  if (ended !== 0) throw new Error(`${argv.join(' ')} ended with ${ended}: ${err.trim()}`);
  return out;
}
