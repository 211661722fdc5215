import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cgroupsAreEmpty, removeCgroups } from '../fixture/cgroups.ts';
import { command } from '../fixture/command.ts';
import { untilReady } from '../fixture/until-ready.ts';
import { confined } from './confined.ts';
import { dockerProgram } from './docker-program.ts';

/** Runs the docker command line with these arguments; returns its standard output. */
export type Docker = (args: readonly string[]) => Promise<string>;

/** A running engine. */
export interface DockerEngine {
  /** The path of its socket. */
  readonly socket: string;
  /** Rejects if the engine ends by itself; never resolves. */
  readonly early: Promise<never>;
  /** Ends it, and everything that it started. */
  stop(): Promise<void>;
}

/**
 * Starts a Docker engine: with images and containers in that folder, volumes in the temporary one,
 * a separate socket, no bridge, and no rules in the machine's firewall. One at a time per folder:
 * the caller holds its lock.
 */
export async function startDockerEngine(folder: string): Promise<DockerEngine> {
  const digest = createHash('sha256').update(folder).digest('hex').slice(0, 8);
  // The same path every time, so that the next run removes the remains of a killed one.
  const run = join(tmpdir(), `porthole-docker-${digest}`);
  rmSync(run, { recursive: true, force: true });
  mkdirSync(run, { mode: 0o700 });
  const socket = join(run, 'docker.sock');
  const log = join(run, 'dockerd.log');
  const cgroup = `porthole-docker-${digest}`;
  // Stay for the next engine of this run. Suites write thousands of small files.
  const volumes = `${run}-volumes`;
  for (const each of [volumes, join(folder, 'volumes')]) mkdirSync(each, { recursive: true, mode: 0o700 });
  const engine = startEngine({ folder, run, volumes, socket, log, cgroup });
  let isStopping = false;
  const early = once(engine, 'exit').then(() => {
    if (isStopping) return new Promise<never>(() => {});
    throw new Error(`dockerd has ended: ${readFileSync(log, 'utf8').slice(-2_000)}`);
  });
  early.catch(() => {});
  const stop = async (): Promise<void> => {
    isStopping = true;
    await end(engine);
    // Its processes die with it, asynchronously.
    while (!cgroupsAreEmpty(cgroup)) await pause(20);
    removeCgroups(cgroup);
    rmSync(run, { recursive: true, force: true });
  };
  try {
    await Promise.race([early, untilReady({ kind: 'socket', path: socket })]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { socket, early, stop };
}

/** Starts an engine for the duration of an action, which receives its command line. */
export async function withDockerEngine<T>(
  folder: string,
  action: (docker: Docker) => Promise<T>,
): Promise<T> {
  const program = await dockerProgram();
  if (program === undefined) throw new Error('no docker command line that builds with BuildKit');
  const config = mkdtempSync(join(tmpdir(), 'porthole-docker-config-'));
  const engine = await startDockerEngine(folder);
  const env = { PATH: process.env['PATH'], DOCKER_CONFIG: config, DOCKER_BUILDKIT: '1' };
  try {
    const docker: Docker = (args) => command([program, `--host=unix://${engine.socket}`, ...args], { env });
    return await Promise.race([engine.early, action(docker)]);
  } finally {
    await engine.stop();
    rmSync(config, { recursive: true, force: true });
  }
}

interface EnginePlace {
  readonly folder: string;
  readonly run: string;
  readonly volumes: string;
  readonly socket: string;
  readonly log: string;
  readonly cgroup: string;
}

function startEngine({ folder, run, volumes, socket, log, cgroup }: EnginePlace): ChildProcess {
  const options = [
    `--data-root=${folder}`,
    `--exec-root=${join(run, 'exec')}`,
    `--pidfile=${join(run, 'docker.pid')}`,
    `--host=unix://${socket}`,
    `--cgroup-parent=/${cgroup}`,
    '--bridge=none',
    '--iptables=false',
    '--ip6tables=false',
    '--ip-forward=false',
    '--ip-masq=false',
  ];
  const script = 'mount --bind "$1" "$2" && shift 2 && exec dockerd "$@"';
  const shell = ['sh', '-c', script, 'sh', volumes, join(folder, 'volumes')];
  const [program = '', ...args] = confined([...shell, ...options]);
  const output = openSync(log, 'a');
  const engine = spawn(program, args, { stdio: ['ignore', output, output] });
  closeSync(output);
  return engine;
}

/**
 * Kills the engine: its files are consistent at any moment, as after a crash, and no process it
 * started outlives it.
 */
async function end(engine: ChildProcess): Promise<void> {
  if (engine.exitCode !== null || engine.signalCode !== null) return;
  const ended = once(engine, 'exit');
  engine.kill('SIGKILL');
  await ended;
}
