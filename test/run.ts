/**
 * `npm test`: jest on every suite this machine is ready for. Arguments go on to jest. The suites of the test cluster come along
 * once it is up (`npm run cluster:up`), or when they are asked for by name; one at a time, for they share the one cluster. So do those of the container engine.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { missing } from './cluster/bed/cluster.ts';

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
const ENGINE = '/test/docker/';

const folder = mkdtempSync(join(tmpdir(), 'porthole-tally-'));
const tallyFile = join(folder, 'tally');
const jest = createRequire(import.meta.url).resolve('jest/bin/jest');

/** Ends with jest's own exit code. */
async function run(...options: readonly string[]): Promise<number> {
  const child = spawn(
    process.execPath,
    ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', jest, ...options],
    { stdio: 'inherit', env: { ...process.env, TALLY_FILE: tallyFile } },
  );
  // A Ctrl-C reaches both; this one waits for what the suites clean up.
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore).on('SIGTERM', ignore);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  process.off('SIGINT', ignore).off('SIGTERM', ignore);
  return code ?? (signal === null ? 0 : 1);
}

/** What each suite came to at its last try. */
function readTallies(): Tally[] {
  const lines = readFileSync(tallyFile, { encoding: 'utf8', flag: 'a+' }).split('\n').filter(Boolean);
  const tallies = lines.map((line) => JSON.parse(line) as Tally);
  return [...new Map(tallies.map((tally) => [tally.file, tally])).values()];
}

/** A machine that is busy may fail a few suites; more than these is no accident. */
const MOST_RUN_AGAIN = 10;

/** With `PORTHOLE_TEST_TRIES=2`, as in CI: suites that failed run once more, alone, and the output names them. */
async function runFailedAgain(): Promise<void> {
  const failed = readTallies().filter((tally) => tally.failed > 0);
  if (process.env['PORTHOLE_TEST_TRIES'] !== '2' || failed.length === 0 || failed.length > MOST_RUN_AGAIN)
    return;
  const files = failed.map(({ file }) => file);
  codes.splice(0, codes.length, await run('--runInBand', '--runTestsByPath', ...files));
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
try {
  if (namesInBand) codes.push(await run(...wanted, '--runInBand'));
  else if (namesSome)
    codes.push(
      await run(...wanted, ...(isUp ? [] : ['--testPathIgnorePatterns', '/node_modules/', CLUSTER])),
    );
  else {
    const inBand = isUp ? `${CLUSTER}|${ENGINE}` : ENGINE;
    // One after the other: side by side they keep two cores busy, and browsers run into their time-outs.
    codes.push(await run(...wanted, '--testPathIgnorePatterns', '/node_modules/', CLUSTER, ENGINE));
    codes.push(await run(...wanted, '--runInBand', '--testPathPatterns', inBand));
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
}
process.exitCode = Math.max(...codes);
