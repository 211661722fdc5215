import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { COMPILE_CACHE } from '#test/support/compile-cache.ts';

/** A process that speaks JSON lines. */
export interface LineProcess {
  readonly child: ChildProcess;
  next(): Promise<unknown>;
  /** Sends a line, and resolves to the next line of output. */
  ask(question: unknown): Promise<unknown>;
  end(signal: NodeJS.Signals): Promise<void>;
}

export function startLineProcess(module: string, environment: Readonly<Record<string, string>>): LineProcess {
  const file = new URL(module, import.meta.url).pathname;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '', ...COMPILE_CACHE, ...environment },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { done, value } = await lines.next();
    if (done === true) throw new Error(`${module} ended and had nothing to say`);
    return JSON.parse(value) as unknown;
  };
  return {
    child,
    next,
    ask(question) {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return next();
    },
    async end(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    },
  };
}
