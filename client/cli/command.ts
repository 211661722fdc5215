import type { Porthole } from '../node/index.ts';

/** An option of a command. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** May be given more than once. */
  readonly multiple?: boolean;
  /** Placeholder of the value in the help, e.g. `NAME`. */
  readonly value?: string;
  /** All values, if they are known; `readChoice` reads the option. */
  readonly choices?: readonly string[];
  readonly help: string;
}

/** The parsed command line. */
export interface Given {
  readonly positionals: readonly string[];
  /** The arguments after `--`; undefined without `--`. */
  readonly rest: readonly string[] | undefined;
  text(option: string): string | undefined;
  texts(option: string): readonly string[];
  is(option: string): boolean;
}

/** Where a command reads and writes. */
export interface Streams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface Context {
  readonly given: Given;
  readonly porthole: Porthole;
  readonly streams: Streams;
  /** Aborts when the user ends the command, for example with Ctrl-C. */
  readonly signal: AbortSignal;
  /** Prints a line on stdout. Waits for backpressure. */
  readonly print: (line: string) => Promise<void>;
  /** Prints the value as JSON with `--json`, and else the lines. Resolves to the exit code 0. */
  readonly show: (value: unknown, ...lines: readonly string[]) => Promise<number>;
  /** Prints a line on stderr, for people. */
  readonly note: (line: string) => Promise<void>;
}

export interface CommandSpec {
  readonly name: string;
  /** The arguments as the help shows them, and as they are parsed: `<sandbox> -- command…`. */
  readonly usage: string;
  /** One line. */
  readonly summary: string;
  readonly details?: string;
  readonly options?: Readonly<Record<string, OptionSpec>>;
  /** What `--json`, which every command has, prints. @default JSON, as the API has it */
  readonly json?: string;
  /** Example command lines, each with its effect. */
  readonly examples: readonly (readonly [string, string])[];
  /** Whether arguments after `--` are allowed. */
  readonly takesRest?: boolean;
  /** The exit code where it fails, other than by wrong usage. @default 1 */
  readonly failureCode?: number;
  /** Resolves to the exit code. */
  run(context: Context): Promise<number>;
}

/** As of ssh: failures of Porthole, where the other codes are those of a program. */
export const OWN_FAILURE = 255;

/** Wrong usage: exit code 2. The message says what, the value and the remedy. */
export class UsageError extends Error {}

/** `a, b or c` */
export function joinWithOr(choices: readonly string[]): string {
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(choices);
}

/**
 * The value of an option with these choices.
 * @throws UsageError
 */
export function readChoice<T extends string>(
  given: Given,
  option: string,
  choices: readonly T[],
): T | undefined {
  const text = given.text(option);
  return text === undefined ? undefined : choiceOf(option, text, choices);
}

/** @throws UsageError */
export function choiceOf<T extends string>(option: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((each) => each === text);
  if (choice !== undefined) return choice;
  throw new UsageError(`--${option} must be one of ${choices.join(', ')}, got ${JSON.stringify(text)}.`);
}

export function optionsOf({
  options,
  json = 'print the JSON of the API',
}: CommandSpec): Readonly<Record<string, OptionSpec>> {
  return { ...options, json: { type: 'boolean', help: json } };
}
