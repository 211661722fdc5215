import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeCgroups } from '../bed/cgroups.ts';
import { command } from '../bed/command.ts';
import { untilReady } from '../bed/until-ready.ts';
import { confined } from './confined.ts';
import { dockerProgram } from './docker-program.ts';

/** Runs the docker command line with these arguments; gives its standard output. */
export type Docker = (args: readonly string[]) => Promise<string>;

const CGROUP = 'porthole-images';

/**
 * Starts a Docker engine for the time of an action: with images and build cache in that folder, a socket of its own, no bridge, and not a rule in the machine's
 * firewall. One at a time: the caller holds the folder's lock.
 */
export async function withDockerEngine<T>(
  folder: string,
  action: (docker: Docker) => Promise<T>,
): Promise<T> {
  const program = await dockerProgram();
  if (program === undefined) throw new Error('no docker command line that builds with BuildKit');
  // The same one every time, so that a run that was killed leaves no more than the next one removes.
  const run = join(
    tmpdir(),
    `porthole-docker-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`,
  );
  rmSync(run, { recursive: true, force: true });
  mkdirSync(run, { mode: 0o700 });
  const socket = join(run, 'docker.sock');
  const log = join(run, 'dockerd.log');
  const engine = startEngine({ folder, run, socket, log });
  const env = { PATH: process.env['PATH'], DOCKER_CONFIG: run, DOCKER_BUILDKIT: '1' };
  try {
    const early = once(engine, 'exit').then(() => {
      throw new Error(`dockerd has ended: ${readFileSync(log, 'utf8').slice(-2_000)}`);
    });
    await Promise.race([early, untilReady({ kind: 'socket', path: socket })]);
    const docker: Docker = (args) => command([program, `--host=unix://${socket}`, ...args], { env });
    return await Promise.race([early, action(docker)]);
  } finally {
    await end(engine);
    removeCgroups(CGROUP);
    rmSync(run, { recursive: true, force: true });
  }
}

interface EnginePlace {
  readonly folder: string;
  readonly run: string;
  readonly socket: string;
  readonly log: string;
}

function startEngine({ folder, run, socket, log }: EnginePlace): ChildProcess {
  const options = [
    `--data-root=${folder}`,
    `--exec-root=${join(run, 'exec')}`,
    `--pidfile=${join(run, 'docker.pid')}`,
    `--host=unix://${socket}`,
    `--cgroup-parent=/${CGROUP}`,
    '--bridge=none',
    '--iptables=false',
    '--ip6tables=false',
    '--ip-forward=false',
    '--ip-masq=false',
  ];
  const [program = '', ...args] = confined(['dockerd', ...options]);
  const output = openSync(log, 'a');
  const engine = spawn(program, args, { stdio: ['ignore', output, output] });
  closeSync(output);
  return engine;
}

/** What the engine has written is whole at any moment, as after a crash; and nothing it started outlives it. */
async function end(engine: ChildProcess): Promise<void> {
  if (engine.exitCode !== null || engine.signalCode !== null) return;
  const ended = once(engine, 'exit');
  engine.kill('SIGKILL');
  await ended;
}
