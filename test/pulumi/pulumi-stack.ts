import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineEvent } from '@pulumi/pulumi/automation/index.js';
import { parse, stringify } from 'yaml';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';
import {
  type Change,
  changesOf,
  type LogLine,
  logOf,
  type Violation,
  violationsOf,
} from './engine-events.ts';
import { toolsPath } from './pulumi-tools.ts';
import type { StackFile } from '../infra/support/stack-files.ts';

const PROJECT = join(import.meta.dirname, '../../Pulumi.yaml');

export interface StackOptions {
  readonly project: string;
  readonly stack: string;
  /** The program's entry, an absolute path. */
  readonly main: string;
  /** File; undefined for a machine without a cluster. */
  readonly kubeconfig?: string;
}

export interface UpdateOptions {
  /** Flags of `pulumi preview` and `pulumi up`. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Kills everything as soon as the output matches. */
  readonly killedAt?: RegExp;
}

export interface UpdateResult {
  readonly succeeded: boolean;
  readonly changes: readonly Change[];
  readonly log: readonly LogLine[];
  readonly violations: readonly Violation[];
  readonly events: readonly EngineEvent[];
  /** What the command line prints. */
  readonly output: string;
}

/** A stack of Pulumi's command line, with its state in a folder of this machine. */
export class PulumiStack {
  readonly #options: StackOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), 'porthole-pulumi-'));
  readonly #env: NodeJS.ProcessEnv;
  /** The encrypted part of the stack file, by the secrets in clear text. */
  #encrypted: { readonly secrets: string; readonly file: Record<string, unknown> } | undefined;
  #runs = 0;

  constructor(options: StackOptions) {
    this.#options = options;
    for (const name of ['tools', 'state', 'home']) mkdirSync(join(this.#folder, name));
    const { name: _, ...settings } = parse(readFileSync(PROJECT, 'utf8')) as { readonly name: string };
    const project = { ...settings, name: options.project, main: options.main };
    writeFileSync(join(this.#folder, 'Pulumi.yaml'), stringify(project));
    this.#env = {
      PATH: toolsPath(join(this.#folder, 'tools')),
      HOME: process.env['HOME'],
      ...COMPILE_CACHE,
      // It is short-lived: collecting garbage as often as by default takes longer.
      GOGC: '400',
      KUBECONFIG: options.kubeconfig ?? join(this.#folder, 'none'),
      PULUMI_BACKEND_URL: `file://${join(this.#folder, 'state')}`,
      PULUMI_CONFIG_PASSPHRASE: 'of the tests',
      PULUMI_DEBUG_COMMANDS: 'true',
      PULUMI_HOME: join(this.#folder, 'home'),
      PULUMI_SKIP_UPDATE_CHECK: 'true',
    };
  }

  async preview(file: StackFile, options: UpdateOptions = {}): Promise<UpdateResult> {
    return this.#update(['preview'], file, options);
  }

  async up(file: StackFile, options: UpdateOptions = {}): Promise<UpdateResult> {
    return this.#update(['up', '--yes', '--skip-preview'], file, options);
  }

  async refresh(file: StackFile, options: UpdateOptions = {}): Promise<UpdateResult> {
    return this.#update(['refresh', '--yes', '--skip-preview'], file, options);
  }

  /** Deletes everything that the state names. */
  async destroy(): Promise<UpdateResult> {
    return this.#logged(['destroy', '--yes', '--skip-preview'], {});
  }

  /** Runs another command on the stack; returns its output, and throws with it if it fails. */
  async run(...args: readonly string[]): Promise<string> {
    const { code, output } = await this.#pulumi([...args, `--stack=${this.#options.stack}`]);
    if (code !== 0) throw new Error(`pulumi ${args.join(' ')} ended with ${code}: ${output}`);
    return output;
  }

  async outputs(): Promise<Readonly<Record<string, unknown>>> {
    return JSON.parse(await this.run('stack', 'output', '--json')) as Record<string, unknown>;
  }

  /** The state file. */
  state(): string {
    const { project, stack } = this.#options;
    return readFileSync(join(this.#folder, `state/.pulumi/stacks/${project}/${stack}.json`), 'utf8');
  }

  /** The URNs of everything in the state. */
  resources(): string[] {
    const { checkpoint } = JSON.parse(this.state()) as {
      readonly checkpoint: { readonly latest?: { readonly resources?: readonly { readonly urn: string }[] } };
    };
    return (checkpoint.latest?.resources ?? []).map(({ urn }) => urn);
  }

  /** Forgets the stack: what it has made stays. */
  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #update(args: readonly string[], file: StackFile, options: UpdateOptions): Promise<UpdateResult> {
    await this.#write(file);
    return this.#logged(args, options);
  }

  async #logged(
    args: readonly string[],
    { flags = [], env, killedAt }: UpdateOptions,
  ): Promise<UpdateResult> {
    const log = join(this.#folder, `events-${(this.#runs += 1)}`);
    writeFileSync(log, '');
    const own = ['--non-interactive', `--event-log=${log}`, `--stack=${this.#options.stack}`];
    const { code, output } = await this.#pulumi([...args, ...own, ...flags], env, killedAt);
    const events = readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as EngineEvent);
    const [changes, lines, violations] = [changesOf(events), logOf(events), violationsOf(events)];
    return { succeeded: code === 0, changes, log: lines, violations, events, output };
  }

  /** Writes the stack file. The command line encrypts its secrets. */
  async #write({ config, secrets }: StackFile): Promise<void> {
    const path = join(this.#folder, `Pulumi.${this.#options.stack}.yaml`);
    const given = JSON.stringify(secrets);
    if (this.#encrypted?.secrets !== given) {
      if (this.#encrypted === undefined) await this.run('stack', 'init');
      const values = Object.entries(secrets).map(([key, value]) => `--secret=${key}=${value}`);
      if (values.length > 0) await this.run('config', 'set-all', ...values);
      this.#encrypted = {
        secrets: given,
        file: parse(readFileSync(path, 'utf8')) as Record<string, unknown>,
      };
    }
    const { file } = this.#encrypted;
    writeFileSync(
      path,
      stringify({ ...file, config: { ...(file['config'] as object | undefined), ...config } }),
    );
  }

  async #pulumi(
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
    killedAt?: RegExp,
  ): Promise<{ readonly code: number | null; readonly output: string }> {
    const child = spawn('pulumi', [...args, '--color=never', '--cwd', this.#folder], {
      env: { ...this.#env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (killedAt?.test(output) === true) child.kill('SIGKILL');
      });
    }
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  }
}
