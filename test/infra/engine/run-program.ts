import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Engine, type Registered, startEngine } from './engine.ts';
import type { Registration } from './registration.ts';
import type { Properties } from './wire-values.ts';

const require = createRequire(import.meta.url);

/** The values of a stack file. */
export interface StackFile {
  readonly config: Readonly<Record<string, unknown>>;
  /** Keys that the file holds encrypted, with their values in clear text. */
  readonly secrets: Readonly<Record<string, string>>;
}

export interface ProgramRun {
  readonly project: string;
  readonly stack: string;
  /** The program's entry, an absolute path. */
  readonly main: string;
  readonly stackFile: StackFile;
  readonly dryRun: boolean;
  readonly register: (registration: Registration) => Promise<Registered>;
  readonly read?: (type: string, id: string) => Promise<Properties>;
}

export interface ProgramResult {
  readonly succeeded: boolean;
  /** All registrations, in order. */
  readonly registrations: readonly Registration[];
  /** The program's exports. */
  readonly outputs: Properties;
  /** The outputs registered by components, by URN. */
  readonly componentOutputs: ReadonlyMap<string, Properties>;
  readonly log: Engine['log'];
  /** The program's stdout and stderr. */
  readonly output: string;
}

/** Runs a program like the command line's language host, against our engine. */
export async function runProgram(run: ProgramRun): Promise<ProgramResult> {
  const registrations: Registration[] = [];
  const engine = await startEngine({
    ...run,
    register: (registration) => {
      registrations.push(registration);
      return run.register(registration);
    },
  });
  try {
    const { code, output } = await node(run, engine.address);
    const stack = registrations.find(({ type }) => type === 'pulumi:pulumi:Stack');
    return {
      succeeded: code === 0,
      registrations,
      outputs: engine.outputs.get(stack?.urn ?? '') ?? {},
      componentOutputs: engine.outputs,
      log: engine.log,
      output,
    };
  } finally {
    engine.close();
  }
}

async function node(run: ProgramRun, address: string): Promise<{ code: number | null; output: string }> {
  const { config, secrets } = run.stackFile;
  const flags = {
    engine: address,
    monitor: address,
    organization: 'organization',
    parallel: '16',
    project: run.project,
    pwd: dirname(run.main),
    stack: run.stack,
  };
  const child = spawn(
    process.execPath,
    [
      // Pulumi keeps the stack of each promise, mapped to sources: an eighth of its time.
      '--stack-trace-limit=1',
      `--import=${join(import.meta.dirname, 'without-closures.ts')}`,
      join(dirname(require.resolve('@pulumi/pulumi')), 'cmd/run'),
      ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
      ...(run.dryRun ? ['--dry-run'] : []),
      run.main,
    ],
    {
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        // Its packages are thousands of files, and suites run it dozens of times.
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        PULUMI_NODEJS_TYPESCRIPT: 'false',
        PULUMI_CONFIG: JSON.stringify(texts({ ...config, ...secrets })),
        PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(Object.keys(secrets)),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/** The command line passes every value as text, and structured values as JSON. */
function texts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}
