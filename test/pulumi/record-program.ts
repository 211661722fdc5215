import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';
import { type StackFile, values } from '../infra/support/stack-files.ts';
import { decode, encode, type Properties } from './wire-values.ts';

/** The registration of a resource by a program. */
export interface Registration {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
  /** URN; empty for the stack itself. */
  readonly parent: string;
  /** False for a component, which has no resource in the cloud. */
  readonly custom: boolean;
  readonly inputs: Properties;
  /** URNs of all its dependencies. */
  readonly dependencies: readonly string[];
  /** URN and id of the provider, `urn::id`; empty for the default one. */
  readonly provider: string;
  readonly ignoreChanges: readonly string[];
}

export interface ProgramStart {
  readonly project: string;
  readonly stack: string;
  /** The program's entry, an absolute path. */
  readonly main: string;
  readonly dryRun: boolean;
}

export interface ProgramRun extends ProgramStart {
  readonly stackFile: StackFile;
  /** @default created with the inputs; a preview knows no ids */
  readonly register?: (registration: Registration) => { readonly id: string; readonly outputs: Properties };
  /** Properties of a resource that the program only reads. @default the program reads none */
  readonly read?: (type: string, id: string) => Properties;
}

/** Values are as on the wire. */
export type Question =
  | { readonly kind: 'register'; readonly registration: Registration }
  | { readonly kind: 'read'; readonly type: string; readonly id: string }
  | { readonly kind: 'outputs'; readonly urn: string; readonly outputs: Properties };

export interface Answer {
  readonly id?: string;
  readonly properties?: Properties;
  readonly error?: string;
}

export interface ProgramResult {
  readonly succeeded: boolean;
  /** All registrations, in order. */
  readonly registrations: readonly Registration[];
  /** The program's exports. */
  readonly outputs: Properties;
  /** The program's stdout and stderr, where its log is, too. */
  readonly output: string;
}

/** Runs a program against Pulumi's mocks in another process, and returns all it declares. */
export async function recordProgram(run: ProgramRun): Promise<ProgramResult> {
  const { project, stack, main, dryRun, stackFile } = run;
  const registrations: Registration[] = [];
  const outputs = new Map<string, Properties>();

  function answer(question: Question): Answer {
    if (question.kind === 'register') return registered(question.registration);
    if (question.kind === 'outputs') {
      outputs.set(question.urn, decode(question.outputs));
      return {};
    }
    const { type, id } = question;
    if (run.read === undefined) throw new Error(`the ${type} ${id} cannot be read`);
    return { properties: encode(run.read(type, id)) };
  }

  function registered({ inputs, ...rest }: Registration): Answer {
    const registration = { ...rest, inputs: decode(inputs) };
    registrations.push(registration);
    if (run.register === undefined) {
      return { id: rest.custom && !dryRun ? rest.name : '', properties: inputs };
    }
    const { id, outputs } = run.register(registration);
    return { id, properties: encode(outputs) };
  }

  const start: ProgramStart = { project, stack, main, dryRun };
  const child = spawn(
    process.execPath,
    [
      // Pulumi keeps the stack of each promise, mapped to sources: an eighth of its time.
      '--stack-trace-limit=1',
      join(import.meta.dirname, 'recorded-program.ts'),
      JSON.stringify(start),
    ],
    {
      cwd: dirname(main),
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        ...COMPILE_CACHE,
        PULUMI_CONFIG: JSON.stringify(values(stackFile)),
        PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(Object.keys(stackFile.secrets)),
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  );
  child.on('message', ({ id, question }: { readonly id: number; readonly question: Question }) => {
    let answered: Answer;
    try {
      answered = answer(question);
    } catch (error) {
      answered = { error: (error as Error).message };
    }
    child.send({ id, answer: answered });
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  const root = registrations.find(({ type }) => type === 'pulumi:pulumi:Stack')?.urn ?? '';
  return { succeeded: code === 0, registrations, outputs: outputs.get(root) ?? {}, output };
}
