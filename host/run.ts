import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { isInCluster } from '#adapters/kubernetes/client/cluster-access.ts';
import { setConsoleBuild } from '#handlers/console/console-files.ts';
import { CONSOLE_FOLDER, CONSOLE_MARK, CONSOLE_SOURCES } from '#handlers/console/console-folder.ts';
import type { Logger } from '#handlers/services.ts';
import { type Config, readConfig, secretsOf } from './config/config.ts';
import { explain } from './explain.ts';
import { greeting } from './greeting.ts';
import { createLogger } from './telemetry/logger.ts';
import { type Host, startHost } from './start-host.ts';

const ROOT = join(import.meta.dirname, '..');
const BUILDER = join(ROOT, 'build/console.ts');
/** In milliseconds. A build takes seconds; one that hangs is ended. */
const MAX_BUILD_MS = 300_000;
/** Characters of the builder's output that are kept: the last ones contain the error. */
const MAX_OUTPUT_CHARS = 2_000;
/** What the builder inherits: the code of packages runs in it, so the host's keys are excluded. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LANG'];

/**
 * Builds the console in the background if its build is missing or stale, at the lowest priority:
 * the API does not wait for it. Begins when `isUp` settles. Pages show the progress. Returns a
 * function that stops it.
 */
function keepConsoleBuilt(log: Logger, isUp: Promise<unknown>): () => void {
  if (isConsoleBuilt()) return () => undefined;
  setConsoleBuild({ state: 'under way' });
  const stopping = new AbortController();
  const begin = () => {
    if (!stopping.signal.aborted) buildConsole(log, stopping.signal);
  };
  isUp.then(begin, begin);
  return () => stopping.abort();
}

/**
 * Whether no source of the console has changed since its build. A source that was replaced or
 * removed has changed its folder. True in an installation without the sources: it has its build.
 */
export function isConsoleBuilt(root = ROOT, mark = join(CONSOLE_FOLDER, CONSOLE_MARK)): boolean {
  if (!existsSync(join(root, 'build/build-console.ts'))) return true;
  try {
    const builtAt = statSync(mark).mtimeMs;
    const paths = CONSOLE_SOURCES.flatMap((each) => within(join(root, each)));
    // Not the time of modification, which copies can keep.
    return paths.every((path) => statSync(path).ctimeMs < builtAt);
  } catch {
    return false;
  }
}

/** The path itself and, of a folder, everything in it. */
function within(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return [path, ...readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name))];
}

function buildConsole(log: Logger, stopping: AbortSignal): void {
  const child = spawn(
    process.execPath,
    ['--disable-sigusr1', '--disable-warning=ExperimentalWarning', BUILDER],
    {
      env: Object.fromEntries(INHERITED.map((name) => [name, process.env[name]])),
      // Its channel tells the builder that the host was killed.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      timeout: MAX_BUILD_MS,
      // One that hangs handles no other.
      killSignal: 'SIGKILL',
    },
  );
  let words = '';
  const failed = (why: string) => {
    if (stopping.aborted) return;
    setConsoleBuild({ state: 'failed', words: why });
    log.warn({ words: why }, 'console not built: npm run build says why');
  };
  child.stderr?.on('data', (chunk: Buffer) => {
    words = (words + stripVTControlCharacters(chunk.toString())).slice(-MAX_OUTPUT_CHARS);
  });
  child.once('spawn', () => {
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  });
  child.once('error', (error) => failed(error.message));
  child.once('close', (code, signal) => {
    if (code === 0) setConsoleBuild({ state: 'none' });
    else failed(signal === null ? words.trim() : `It was ended by ${signal}. ${words}`.trim());
  });
  child.unref();
  child.channel?.unref();
  stopping.addEventListener('abort', () => child.kill());
}

/**
 * Starts the host, prints its URL, and ends it on SIGINT or SIGTERM (a second signal ends it at
 * once).
 * @param began when the process began, in milliseconds of `performance.now()`
 */
export async function run(began: number): Promise<void> {
  let host: Host;
  let config: Config;
  try {
    config = readConfig(process.env);
    const log = await createLogger({
      level: config.logLevel,
      secrets: secretsOf(config),
      hasTraces: config.telemetry !== undefined,
    });
    host = await startHost(config, log);
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exitCode = 1;
    return;
  }
  const described = host.describe();
  const endBuild = keepConsoleBuilt(host.services.log, described);
  endOnSignal(host, endBuild);
  if (!config.featuresOff.has('mcp')) prepareMcp(host.services.log, described);
  const seconds = (performance.now() - began) / 1_000;
  const { log, warnings } = host.services;
  // A pod's output is its log.
  if (isInCluster()) return log.info({ seconds, warnings: warnings() }, 'Porthole is up');
  const needsKey = host.services.authenticator.withoutCredential === undefined;
  say(greeting({ url: host.url, port: host.port, needsKey, seconds }, config));
  say(`  Sandboxes     ${await described}\n`);
  for (const warning of warnings()) say(`  WARNING       ${warning}\n`);
  say('\n');
}

/**
 * Loads what the first MCP call needs, once the host is up: the call would hold all other requests
 * for up to a second meanwhile.
 */
function prepareMcp(log: Logger, isUp: Promise<unknown>): void {
  const load = async () => {
    const mcp = await import('#handlers/mcp/serve-mcp.ts');
    await mcp.prepareMcp();
    log.debug({}, 'MCP is ready');
  };
  isUp.then(load, load).catch((err: unknown) => log.error({ err }, 'MCP not prepared'));
}

function say(text: string): void {
  process.stdout.write(text);
}

/**
 * npm forwards a Ctrl-C that the terminal has sent already: signals within this time count as one.
 */
const SAME_SIGNAL_MS = 500;

function endOnSignal(host: Host, endBuild: () => void): void {
  let asked: number | undefined;
  const end = (signal: NodeJS.Signals) => {
    if (asked !== undefined) {
      if (performance.now() - asked > SAME_SIGNAL_MS) process.exit(128 + (signal === 'SIGINT' ? 2 : 15));
      return;
    }
    asked = performance.now();
    endBuild();
    host.close().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`${explain(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
}
