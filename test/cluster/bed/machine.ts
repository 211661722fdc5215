/**
 * The first program of a bed, in process, mount and network namespaces of its own: it prepares them, starts the
 * components in order and keeps a status file. When it ends, the kernel ends everything else in those namespaces
 * with it: containers, their mounts, their network devices. Started as `node machine.ts NUMBER PLAN` in the run
 * folder, with the host's network namespace as file descriptor 3.
 */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { command } from './command.ts';
import {
  type Component,
  LOG_FOLDER,
  type MachinePlan,
  type MachineStatus,
  type SetupCommand,
  STATUS_FILE,
} from './machine-plan.ts';
import { untilReady } from './until-ready.ts';

const HOST_NETWORK = 3;
const plan = JSON.parse(readFileSync(process.argv.at(-1) ?? '', 'utf8')) as MachinePlan;
const ready: string[] = [];
let problem: string | undefined;

/** Writes the status in one step. A problem, once there, stays. */
function report(phase: MachineStatus['phase']): void {
  const status: MachineStatus =
    problem === undefined ? { phase, ready } : { phase: 'failed', ready, problem };
  writeFileSync(`${STATUS_FILE}.new`, JSON.stringify(status));
  renameSync(`${STATUS_FILE}.new`, STATUS_FILE);
}

function fail(text: string): void {
  problem ??= text;
  report('failed');
}

async function prepare({ argv, host }: SetupCommand): Promise<void> {
  const full = host ? ['nsenter', `--net=/proc/self/fd/${HOST_NETWORK}`, '--', ...argv] : argv;
  await command(full, { inherit: [HOST_NETWORK] });
}

function openVolumes(): void {
  mkdirSync(plan.openedFolder, { recursive: true, mode: 0o755 });
  watch(plan.openedFolder, (_event, name) => {
    if (name === null) return;
    const folder = join(plan.openedFolder, name);
    try {
      // Only where it is needed: a change of mode is an event of its own, and would call for the next one.
      if ((statSync(folder).mode & 0o777) !== 0o777) chmodSync(folder, 0o777);
    } catch (error) {
      // A folder that is gone again needs no opening.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  });
}

/** Starts a component; resolves when it is ready. A service that ends later fails the whole machine. */
async function start(component: Component): Promise<void> {
  const log = join(LOG_FOLDER, `${component.name}.log`);
  const descriptor = openSync(log, 'a');
  const [program = '', ...args] = component.argv;
  const child = spawn(program, args, {
    env: { ...plan.env, ...component.env },
    stdio: ['ignore', descriptor, descriptor],
  });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(`ended with ${code ?? signal}`));
  });
  if (component.kind === 'task') {
    const how = await ended;
    if (how !== 'ended with 0') throw new Error(`${component.name} ${how}: ${tail(log)}`);
  } else {
    const early = ended.then((how) => {
      const text = `${component.name} ${how}: ${tail(log)}`;
      fail(text);
      throw new Error(text);
    });
    await Promise.race([early, component.ready === undefined ? undefined : untilReady(component.ready)]);
  }
  ready.push(component.name);
  report('starting');
}

function tail(log: string): string {
  return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-5).join('\n');
}

async function boot(): Promise<void> {
  for (const step of plan.setup) await prepare(step);
  openVolumes();
  const started = new Map<string, Promise<void>>();
  for (const component of plan.components) {
    const awaited = component.after.map((name) => {
      const earlier = started.get(name);
      if (earlier === undefined) throw new Error(`${component.name} comes before ${name}, which it needs`);
      return earlier;
    });
    started.set(
      component.name,
      Promise.all(awaited).then(() => start(component)),
    );
  }
  await Promise.all(started.values());
}

report('starting');
try {
  await boot();
  report('running');
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
// The watch on the volumes keeps this process, and with it the machine, alive. Where setting up failed, nothing
// does, and the machine ends with its status file written.
