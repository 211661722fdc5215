import { fork } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';

/** A process that runs bundled functions, as a runtime would. */
export interface FunctionProcess {
  /** Sends an event to that export of the module; returns its result, or throws what it threw. */
  invoke(module: string, name: string, event: object): Promise<unknown>;
  log(): string;
  end(): Promise<void>;
}

interface Outcome {
  readonly call: number;
  readonly result?: unknown;
  readonly error?: string;
}

const RUNTIME = new URL('runtime.mjs', import.meta.url);

export function functionProcess(environment: Readonly<Record<string, string>>): FunctionProcess {
  const child = fork(RUNTIME, {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  child.on('message', ({ call, result, error }: Outcome) => {
    if (error === undefined) waiting.get(call)?.resolve(result);
    else waiting.get(call)?.reject(new Error(error));
    waiting.delete(call);
  });
  const ended = once(child, 'exit');
  child.once('exit', () => {
    for (const { reject } of waiting.values()) reject(new Error(`the functions have ended:\n${output}`));
  });
  let calls = 0;
  return {
    invoke(module, name, event) {
      const call = (calls += 1);
      const outcome = Promise.withResolvers<unknown>();
      waiting.set(call, outcome);
      child.send({ call, module: pathToFileURL(module).href, name, event });
      return outcome.promise;
    },
    log: () => output,
    async end() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
