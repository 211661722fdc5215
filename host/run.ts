import { ConfigError, readConfig, secretsOf } from './config/config.ts';
import { DataFolderInUse } from './data-folder.ts';
import { createLogger } from './logger.ts';
import { type Host, startHost } from './start-host.ts';

/**
 * Starts the host, says where it is, and ends it on SIGINT or SIGTERM (a second one ends it at once).
 * @param began when the process began, in milliseconds of `performance.now()`
 */
export async function run(began: number): Promise<void> {
  let host: Host;
  try {
    const config = readConfig(process.env);
    const log = await createLogger({ level: config.logLevel, secrets: secretsOf(config) });
    host = await startHost(config, log);
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exitCode = 1;
    return;
  }
  endOnSignal(host);
  say(greeting(host, (performance.now() - began) / 1_000));
  say(`  Sandboxes     ${await host.describe()}\n`);
  for (const warning of host.services.warnings()) say(`  WARNING       ${warning}\n`);
  say('\n');
}

function greeting({ url }: Host, seconds: number): string {
  return `
  Porthole is up (${seconds.toFixed(1)} s)

  API           ${url}
  Docs          ${url}/v1/openapi
  Health        ${url}/health

  Try next, in another terminal:
    npm run demo                        a Vite project in a sandbox, live in your browser
    curl -X POST ${url}/api/runs   a run with a sandbox of its own

`;
}

function say(text: string): void {
  process.stdout.write(text);
}

function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof DataFolderInUse) return error.message;
  const { code, port, address } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${address} is taken. Free it, or start Porthole on another one: PORT=${(port ?? 8787) + 1} npm start`;
  if (code === 'EACCES' && port !== undefined)
    return `Port ${port} needs more rights than this user has. Choose one above 1023: PORT=8787 npm start`;
  return `Porthole could not start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

/** npm passes a Ctrl-C on although the terminal has sent it already: what comes this close is the same one. */
const SAME_SIGNAL_MS = 500;

function endOnSignal(host: Host): void {
  let asked: number | undefined;
  const end = (signal: NodeJS.Signals) => {
    if (asked !== undefined) {
      if (performance.now() - asked > SAME_SIGNAL_MS) process.exit(128 + (signal === 'SIGINT' ? 2 : 15));
      return;
    }
    asked = performance.now();
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
