import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type Agent, request } from 'node:http';

/**
 * A median with the 95 % interval of its sample's ranks (binomial; the extremes of small samples).
 */
export interface Estimate {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

interface Goal {
  readonly at: 'least' | 'most';
  readonly value: number;
}

export const atLeast = (value: number): Goal => ({ at: 'least', value });
export const atMost = (value: number): Goal => ({ at: 'most', value });

/** One comparison: ratios of pairs measured side by side, and their components. */
export interface BenchResult {
  readonly name: string;
  readonly ratio: Estimate;
  readonly pairs: number;
  /** Met if the worse end of the interval meets it; undefined for figures without a goal. */
  readonly goal: Goal | undefined;
  readonly met: boolean | undefined;
  /** Absolute medians by arm, valid only for this machine at this moment. */
  readonly absolute: Readonly<Record<string, { readonly median: number; readonly unit: string }>>;
}

/** One round of an arm; resolves with its figure. */
export type Arm = () => Promise<number>;

/** An arm that measures how long an action takes, in milliseconds. */
export function timed(action: () => Promise<unknown>): Arm {
  return async () => {
    const began = performance.now();
    await action();
    return performance.now() - began;
  };
}

export function estimate(values: readonly number[]): Estimate {
  if (values.length === 0) throw new RangeError('an estimate needs at least one value');
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  // Normal approximation of the binomial ranks, rounded outwards.
  const spread = (1.96 * Math.sqrt(n)) / 2;
  const at = (rank: number): number => sorted[Math.min(Math.max(rank, 0), n - 1)] as number;
  const median = (at(Math.floor((n - 1) / 2)) + at(Math.ceil((n - 1) / 2))) / 2;
  return { median, low: at(Math.floor(n / 2 - spread)), high: at(Math.ceil(n / 2 + spread)) };
}

/**
 * Runs the arms in turn, `rounds` times: A B C A B C … Figures with the same index belong together.
 * @param warmUp rounds before, which do not count: they fill pools and warm up the compiler
 */
export async function interleave<Name extends string>(
  arms: Readonly<Record<Name, Arm>>,
  rounds: number,
  warmUp = 0,
): Promise<Record<Name, number[]>> {
  if (warmUp > 0) await interleave(arms, warmUp);
  const names = Object.keys(arms) as Name[];
  const figures = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < rounds; round += 1) {
    // The order alternates, so that no arm always follows the heaviest one.
    const order = round % 2 === 0 ? names : names.toReversed();
    for (const name of order) figures[name].push(await arms[name]());
  }
  return figures;
}

/** Compares arm `a` with arm `b`, pair by pair. */
export function compare(
  name: string,
  figures: Readonly<Record<string, readonly number[]>>,
  [a, b]: readonly [string, string],
  unit: string,
  goal?: Goal,
): BenchResult {
  const above = figures[a] ?? [];
  const below = figures[b] ?? [];
  const ratios = above.map((value, at) => value / (below[at] as number));
  const ratio = estimate(ratios);
  const absolute = {
    [a]: { median: estimate(above).median, unit },
    [b]: { median: estimate(below).median, unit },
  };
  const met = goal && (goal.at === 'least' ? ratio.low >= goal.value : ratio.high <= goal.value);
  return { name, ratio, pairs: ratios.length, goal, met, absolute };
}

/** Figures as ratios to the most that each may be. */
export function limited(
  name: string,
  figures: readonly number[],
  allowed: number,
  unit: string,
  measured = 'measured',
): BenchResult {
  const limits = figures.map(() => allowed);
  return compare(name, { [measured]: figures, allowed: limits }, [measured, 'allowed'], unit, atMost(1));
}

/** One figure with a goal, as the ratio to it. */
export function single(
  name: string,
  value: number,
  unit: string,
  most: number,
  more: Readonly<Record<string, number>> = {},
): BenchResult {
  const ratio = value / most;
  const also = Object.entries(more).map(([arm, median]) => [arm, { median, unit: '' }]);
  return {
    name,
    ratio: { median: ratio, low: ratio, high: ratio },
    pairs: 1,
    goal: atMost(1),
    met: ratio <= 1,
    absolute: {
      measured: { median: value, unit },
      goal: { median: most, unit },
      ...Object.fromEntries(also),
    },
  };
}

/**
 * A separate process, so that no two arms share an event loop. It sends one message once it is
 * ready.
 */
export interface Worker<Ready> {
  readonly ready: Ready;
  /** Sends `message` and resolves with the next answer. */
  ask(message: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

export async function startWorker<Ready>(
  module: URL,
  args: readonly string[] = [],
  nodeOptions: readonly string[] = process.execArgv,
  prefix: readonly string[] = [],
): Promise<Worker<Ready>> {
  const [execPath = process.execPath, ...execArgv] = [...prefix, process.execPath, ...nodeOptions];
  const child: ChildProcess = fork(module, [...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execPath,
    execArgv,
  });
  const answer = async (): Promise<unknown> => {
    const ended = new AbortController();
    const exit = (code: number | null): void =>
      ended.abort(new Error(`${module.pathname} ended with ${code}`));
    child.once('exit', exit);
    try {
      const [message] = (await once(child, 'message', { signal: ended.signal })) as [unknown];
      return message;
    } finally {
      child.off('exit', exit);
    }
  };
  return {
    ready: (await answer()) as Ready,
    ask(message) {
      const answered = answer();
      child.send(message as object);
      return answered;
    },
    stop: () => endChild(child),
  };
}

/** Ends a process, unless it has ended. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

interface PlainCall {
  readonly port: number;
  readonly agent: Agent;
  readonly body?: string | NodeJS.ReadableStream | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * One call over HTTP/1.1. Its response is read and not kept: that would measure this reader.
 * @returns the last 1,000 bytes of the body
 * @throws Error when the status is 300 or above
 */
export async function ask(route: string, { port, agent, body, headers }: PlainCall): Promise<string> {
  const [method = '', path = ''] = route.split(' ');
  const outgoing = request({ host: '127.0.0.1', port, method, path, agent, ...(headers && { headers }) });
  if (typeof body === 'string') outgoing.setHeader('content-type', 'application/json');
  if (body === undefined || typeof body === 'string') outgoing.end(body);
  else body.pipe(outgoing);
  const [response] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
  let tail = Buffer.alloc(0);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    tail = Buffer.concat([tail.subarray(-1_000), chunk.subarray(-1_000)]).subarray(-1_000);
  }
  if (response.statusCode < 300) return tail.toString();
  throw new Error(`${route}: ${response.statusCode} ${tail.toString()}`);
}
