import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const BROKER = new URL('../../../host/broker.ts', import.meta.url).pathname;

/** The broker of a cluster as a process of this machine. */
export interface BrokerProcess {
  /** The lines of its log. */
  readonly logged: readonly string[];
  /** Kills it. */
  end(): Promise<void>;
}

/** Resolves once it listens. */
export async function startBrokerProcess(
  environment: Readonly<Record<string, string>>,
): Promise<BrokerProcess> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', BROKER], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const logged: string[] = [];
  const exited = once(child, 'exit');
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the broker ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      logged.push(line);
      if (line.includes('the broker listens')) resolve();
    });
  });
  return {
    logged,
    async end() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
