/**
 * `npm test`: jest on every suite this machine is ready for. Arguments go on to jest. The suites of
 * the test cluster come along once it is up (`npm run cluster:up`), or when they are named. They
 * share one cluster: in a full run two of them at a time, each in its own namespaces. Those of the
 * container engine share one engine, and run one at a time.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, getPriority, setPriority, tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { writeBuiltGuest } from '#adapters/guest/guest-bundle.ts';
import { missing } from './cluster/fixture/cluster.ts';
import { sharedFixture } from './cluster/fixture/fixture-location.ts';
import { signalMachine } from './cluster/fixture/machine-processes.ts';
import { endLeftovers } from './support/end-leftovers.ts';
import { changedSince, LAST_SUITES, suitesLeftOut } from './suites-by-path.ts';

/** One line a suite and try, as the reporter writes it. */
interface Tally {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Why suites were skipped. */
  readonly reasons: readonly string[];
  readonly ms: number;
}

const CLUSTER = '/test/cluster/';
/** Suites of mounts count the bucket servers of their user, so no other suite may mount. */
const ENGINE = ['/test/frameworks/', '/test/docker/', '/test/adapters/mounts/', '/test/host/mounts.'];
/** Half of them open pages of the console. */
const CONSOLE = '/test/browser/console';
const BROWSERS = '/test/browser/';
const BENCHES = '/test/bench/';
/** Browsers beside each other run into their time-outs, and suites of the engine share one. */
const ONE_AT_A_TIME = [[BROWSERS], [...ENGINE, '/test/examples/podman-provider.']];
/** Suites that start no process: most mistakes show in them, within minutes. */
const CHEAP = /\/test\/(?:core|console|constructs|infra|policies|handlers|client|build)\//;

const ROOT = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'porthole-tally-'));
const tallyFile = join(folder, 'tally');
const jest = createRequire(import.meta.url).resolve('jest/bin/jest');

/** Where Linux keeps files in memory, and the space that the suites need there, in bytes. */
const MEMORY = { folder: '/dev/shm', bytes: 8 * 2 ** 30 };

/**
 * The folder for what suites write: in memory where that has room, since a disk costs a fifth of
 * the processor time of all suites. Like `/tmp`, it is open to every user.
 */
function scratchFolder(): string {
  const { bavail, bsize } = existsSync(MEMORY.folder) ? statfsSync(MEMORY.folder) : { bavail: 0, bsize: 0 };
  const scratch = mkdtempSync(join(bavail * bsize < MEMORY.bytes ? tmpdir() : MEMORY.folder, 'porthole-'));
  chmodSync(scratch, 0o1777);
  return scratch;
}

/**
 * A lane prints a line for each suite. Without one for this long, in milliseconds, it hangs, is
 * killed, and its remaining suites count as failed.
 */
const MAX_QUIET_MS = 900_000;

const scratch = scratchFolder();

/** Ends with jest's own exit code. */
async function run(options: readonly string[], lane?: { readonly nicer: number }): Promise<number> {
  const own = mkdtempSync(join(scratch, 'c'));
  chmodSync(own, 0o1777);
  const child = spawn(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      jest,
      `--cacheDirectory=${join(tmpdir(), 'porthole-jest')}`,
      ...options,
    ],
    {
      stdio: lane === undefined ? 'inherit' : ['ignore', 'pipe', 'pipe'],
      env: {
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
        ...process.env,
        TALLY_FILE: tallyFile,
        TMPDIR: own,
        // What outlives a run stays on the disk.
        PORTHOLE_CLUSTER_DIR: sharedFixture().runFolder,
        ...(lane !== undefined && { TEST_LANE: '1' }),
      },
    },
  );
  const { stdout, stderr, pid } = child;
  if (lane !== undefined && pid !== undefined) setPriority(pid, getPriority() + lane.nicer);
  stdout?.pipe(process.stdout, { end: false });
  stderr?.pipe(process.stderr, { end: false });
  const quiet = lane === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), MAX_QUIET_MS);
  for (const output of [stdout, stderr]) output?.on('data', () => quiet?.refresh());
  // A Ctrl-C reaches both; this one waits for what the suites clean up.
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore).on('SIGTERM', ignore);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (stdout !== null && stderr !== null) {
    // Its last lines; a process that a suite has left behind may hold the pipes for longer.
    await Promise.race([
      Promise.all([finished(stdout), finished(stderr)]),
      pause(2_000, undefined, { ref: false }),
    ]);
    stdout.destroy();
    stderr.destroy();
  }
  clearTimeout(quiet);
  process.off('SIGINT', ignore).off('SIGTERM', ignore);
  const ended = endLeftovers(basename(own));
  if (ended > 0) process.stdout.write(`ended ${ended} processes of sandboxes that suites have left behind\n`);
  return code ?? (signal === null ? 0 : 1);
}

/**
 * Two suites at a time. More run only beside suites that wait, for instance for pods: they start
 * when a share of the processors was idle for this long, in milliseconds, and give way to the
 * others. Three at any time keep both cores busy and take as long; browsers and large files then
 * run into their time-outs. A fourth is of the cheap ones, which have none.
 */
const LANES = 2;
const IDLE_MS = 2_000;
const THIRD = {
  share: 0.15,
  nicer: 5,
  takes: (file: string) => !file.includes(CLUSTER) && !file.includes(BROWSERS),
};
const FOURTH = { share: 0.25, nicer: 10, takes: (file: string) => CHEAP.test(file) };
/** Suites of one jest process. */
const CHUNK = { cheap: 40, cluster: 7, other: 6 };
/** What a suite leaves open, for instance after a time-out, must not hold up its lane. */
const IN_LANE = [
  '--runInBand',
  '--forceExit',
  `--reporters=${join(import.meta.dirname, 'support/tally-reporter.js')}`,
];

/**
 * Every suite. Those with a browser, which keep a core busy, are two chunks. Those that share an
 * engine or mount buckets are one, and so are the benchmarks, which wait half of their time. The
 * cheap ones come first. With a cluster, both lanes begin with what uses it, which mostly waits,
 * and the others with the cheap ones: they take from the end. The two chunks with a browser follow
 * each other, so the first begins beside the cluster's: together they take longest.
 */
function chunksOfAll(withCluster: boolean, leftOut: readonly string[]): string[][] {
  const files = globSync('**/*.test.ts', { cwd: import.meta.dirname })
    .map((file) => join(import.meta.dirname, file))
    .filter((file) => !leftOut.includes(relative(ROOT, file)));
  const isLast = new Set(LAST_SUITES.flat());
  // The longest first, as jest has it where it knows no durations.
  const suites = files
    .filter((file) => !isLast.has(relative(ROOT, file)))
    .toSorted((a, b) => statSync(b).size - statSync(a).size);
  const below = (...folders: string[]) =>
    suites.filter((file) => folders.some((folder) => file.includes(folder)));
  const isAlone = (file: string) =>
    [CLUSTER, ...ENGINE, BROWSERS, BENCHES].some((folder) => file.includes(folder));
  const others = suites.filter((file) => !isAlone(file));
  const chunked = (all: readonly string[], size: number): string[][] =>
    Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));
  /** Smaller and smaller, so that the lanes end at about the same time. */
  const tapered = (all: readonly string[], size: number): string[][] => {
    const taken = Math.max(1, Math.min(size, Math.ceil(all.length / (3 * LANES))));
    return all.length === 0 ? [] : [all.slice(0, taken), ...tapered(all.slice(taken), size)];
  };
  /** Round robin: the long suites are spread, so that all chunks take about as long. */
  const dealt = (all: readonly string[], size: number): string[][] => {
    const count = Math.ceil(all.length / size);
    return Array.from({ length: count }, (_, at) => all.filter((_, each) => each % count === at));
  };
  const cheap = chunked(
    others.filter((file) => CHEAP.test(file)),
    CHUNK.cheap,
  );
  const onCluster = withCluster ? dealt(below(CLUSTER), CHUNK.cluster) : [];
  const chunks = [
    ...(withCluster ? onCluster.slice(0, LANES) : cheap),
    below(CONSOLE),
    ...onCluster.slice(LANES),
    below(BENCHES),
    // The longest first: they would be the last to end if they began later.
    below(BROWSERS).filter((file) => !file.includes(CONSOLE)),
    below(...ENGINE),
    ...tapered(
      others.filter((file) => !CHEAP.test(file)),
      CHUNK.other,
    ),
    ...(withCluster ? cheap : []),
  ];
  return chunks.filter((chunk) => chunk.length > 0);
}

/** Those of `LAST_SUITES` that run at all. */
function lastChunks(withCluster: boolean, leftOut: readonly string[]): string[][] {
  const runs = (file: string) =>
    !leftOut.includes(file) && (withCluster || !join(ROOT, file).includes(CLUSTER));
  return LAST_SUITES.map((chunk) => chunk.filter(runs).map((file) => join(ROOT, file))).filter(
    (chunk) => chunk.length > 0,
  );
}

/**
 * With `PORTHOLE_TEST_MINUTES`, as in CI, no chunk of `LAST_SUITES` begins later than that, and no
 * chunk at all this much later: what has begun must end before CI is killed.
 */
const LATE_AFTER_MS = Number(process.env['PORTHOLE_TEST_MINUTES'] ?? Number.POSITIVE_INFINITY) * 60_000;
const GRACE_MS = 6 * 60_000;
const isLate = (grace = 0) => performance.now() > LATE_AFTER_MS + grace;

/**
 * Each lane takes the next chunk once it is done with one. The shared cluster is paused as soon as
 * no suite needs it: while it waits, it costs a sixteenth of a processor. A suite that leaves no
 * tally has failed: its process has ended.
 */
async function runInLanes(
  options: readonly string[],
  chunks: readonly string[][],
  last: readonly string[][],
): Promise<void> {
  const left = [...chunks];
  const leftForLast = [...last];
  const onCluster = new Set(
    [...chunks, ...last].filter((chunk) =>
      chunk.some((file) => [CLUSTER, BENCHES].some((part) => file.includes(part))),
    ),
  );
  const running = new Set<readonly string[]>();
  const runChunk = async (chunk: string[], nicer = 0): Promise<void> => {
    running.add(chunk);
    codes.push(await run([...options, ...IN_LANE, '--runTestsByPath', ...chunk], { nicer }));
    running.delete(chunk);
    if (onCluster.delete(chunk) && onCluster.size === 0) signalMachine(sharedFixture().runFolder, 'SIGSTOP');
  };
  const usesAny = (chunk: readonly string[], folders: readonly string[]) =>
    chunk.some((file) => folders.some((folder) => file.includes(folder)));
  const take = (from: string[][]): string[] | undefined => {
    const taken = ONE_AT_A_TIME.filter((folders) => [...running].some((chunk) => usesAny(chunk, folders)));
    const next = from.findIndex((chunk) => !taken.some((folders) => usesAny(chunk, folders)));
    return next === -1 ? undefined : from.splice(next, 1)[0];
  };
  const lane = async (): Promise<void> => {
    for (;;) {
      if (isLate(GRACE_MS)) return;
      const chunk = take(left) ?? (isLate() ? undefined : take(leftForLast));
      if (chunk === undefined) return;
      await runChunk(chunk);
    }
  };
  const idleLane = async ({ share, nicer, takes }: typeof THIRD): Promise<void> => {
    while (left.at(-1)?.every(takes) && !isLate(GRACE_MS)) {
      if ((await idleShare(IDLE_MS)) < share) continue;
      const chunk = left.at(-1)?.every(takes) ? left.pop() : undefined;
      if (chunk !== undefined) await runChunk(chunk, nicer);
    }
  };
  try {
    await Promise.all([...Array.from({ length: LANES }, lane), idleLane(THIRD), idleLane(FOURTH)]);
    // What had to wait for a chunk of another lane.
    await lane();
  } finally {
    signalMachine(sharedFixture().runFolder, 'SIGCONT');
  }
  const dropped = [...left, ...leftForLast].flat();
  for (const file of dropped)
    process.stdout.write(`left out: ${relative(ROOT, file)}: the machine is too slow for all suites\n`);
  const counted = new Set([...dropped, ...readTallies().map(({ file }) => file)]);
  const lost = [...chunks, ...last].flat().filter((file) => !counted.has(file));
  for (const file of lost) {
    const tally: Tally = { file, passed: 0, failed: 1, skipped: 0, reasons: [], ms: 0 };
    appendFileSync(tallyFile, `${JSON.stringify(tally)}\n`);
    codes.push(1);
  }
}

/**
 * With `PORTHOLE_TEST_SINCE=<commit>`, as in CI: the suites of `suites-by-path.ts` that no change
 * since that commit concerns. The output names them.
 */
function leftOutSince(commit: string): string[] {
  const changed = changedSince(commit);
  if (changed === undefined)
    process.stdout.write(`all suites run: ${commit} is no ancestor of what is checked out\n`);
  const leftOut = changed === undefined ? [] : suitesLeftOut(changed);
  for (const suite of leftOut)
    process.stdout.write(`left out: ${suite}: nothing that it covers has changed since ${commit}\n`);
  return leftOut;
}

/** The share of all processors that is idle during the next milliseconds. */
async function idleShare(ms: number): Promise<number> {
  const times = () => {
    const all = cpus().flatMap((cpu) => Object.values(cpu.times));
    const idle = cpus().map((cpu) => cpu.times.idle);
    const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
    return { idle: sum(idle), all: sum(all) };
  };
  const before = times();
  await pause(ms);
  const after = times();
  return (after.idle - before.idle) / (after.all - before.all);
}

/** What each suite came to at its last try. */
function readTallies(): Tally[] {
  const lines = readFileSync(tallyFile, { encoding: 'utf8', flag: 'a+' }).split('\n').filter(Boolean);
  const tallies = lines.map((line) => JSON.parse(line) as Tally);
  return [...new Map(tallies.map((tally) => [tally.file, tally])).values()];
}

/** A machine that is busy may fail a few suites; more than these is no accident. */
const MAX_RUN_AGAIN = 10;

/**
 * With `PORTHOLE_TEST_TRIES=2`, as in CI: suites that failed run once more, alone, and the output
 * names them.
 */
async function runFailedAgain(): Promise<void> {
  const failed = readTallies().filter((tally) => tally.failed > 0);
  if (process.env['PORTHOLE_TEST_TRIES'] !== '2' || failed.length === 0 || failed.length > MAX_RUN_AGAIN)
    return;
  const files = failed.map(({ file }) => file);
  codes.splice(0, codes.length, await run(['--runInBand', '--forceExit', '--runTestsByPath', ...files]));
  const still = new Set(readTallies().flatMap((tally) => (tally.failed > 0 ? [tally.file] : [])));
  for (const file of files) {
    process.stdout.write(
      `FLAKY ${relative('.', file)}: ${still.has(file) ? 'failed twice' : 'passed only when it ran again'}\n`,
    );
  }
}

const wanted = process.argv.slice(2);
const isUp = missing() === undefined;
const namesSome = wanted.some((argument) => !argument.startsWith('-'));
const namesInBand = wanted.some((argument) => /cluster|test\/docker/.test(argument));
const codes: number[] = [];
// Once, and not in every process that starts sandboxes.
await writeBuiltGuest();
try {
  if (namesInBand) codes.push(await run([...wanted, '--runInBand']));
  else if (namesSome)
    codes.push(
      await run([...wanted, ...(isUp ? [] : ['--testPathIgnorePatterns', '/node_modules/', CLUSTER])]),
    );
  else {
    const since = process.env['PORTHOLE_TEST_SINCE'] ?? '';
    const leftOut = since === '' ? [] : leftOutSince(since);
    await runInLanes(wanted, chunksOfAll(isUp, leftOut), lastChunks(isUp, leftOut));
    if (!isUp)
      process.stdout.write('Without the suites of the test cluster: npm run cluster:up brings it up.\n');
  }
  await runFailedAgain();
  const tallies = readTallies();
  for (const reason of new Set(tallies.flatMap(({ reasons }) => reasons)))
    process.stdout.write(`skipped: ${reason}\n`);
  for (const { file, failed } of tallies)
    if (failed > 0) process.stdout.write(`failed: ${relative('.', file)}\n`);
  if (!namesSome) {
    const slowest = tallies.toSorted((a, b) => b.ms - a.ms).slice(0, 10);
    for (const { file, ms } of slowest)
      process.stdout.write(`slow: ${(ms / 1_000).toFixed(0).padStart(4)} s ${relative('.', file)}\n`);
  }
  const sum = (of: 'passed' | 'failed' | 'skipped') => tallies.reduce((total, tally) => total + tally[of], 0);
  // The last line of all, which a script can read.
  process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`);
} finally {
  rmSync(folder, { recursive: true });
  // Never through a mount that a suite has left behind.
  spawnSync('rm', ['-rf', '--one-file-system', scratch]);
}
process.exitCode = Math.max(...codes);
