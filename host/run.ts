import { type Config, readConfig, secretsOf } from './config/config.ts';
import { explain } from './explain.ts';
import { keepConsoleBuilt } from './keep-console-built.ts';
import { isWildcard } from './known-hosts.ts';
import { createLogger } from './logger.ts';
import { type Host, startHost } from './start-host.ts';

/**
 * Starts the host, says where it is, and ends it on SIGINT or SIGTERM (a second one ends it at once).
 * @param began when the process began, in milliseconds of `performance.now()`
 */
export async function run(began: number): Promise<void> {
  let host: Host;
  let config: Config;
  try {
    config = readConfig(process.env);
    const log = await createLogger({ level: config.logLevel, secrets: secretsOf(config) });
    host = await startHost(config, log);
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exitCode = 1;
    return;
  }
  const endBuild = keepConsoleBuilt(host.services.log);
  endOnSignal(host, endBuild);
  say(greeting(host, config, (performance.now() - began) / 1_000));
  say(`  Sandboxes     ${await host.describe()}\n`);
  for (const warning of host.services.warnings()) say(`  WARNING       ${warning}\n`);
  say('\n');
}

const DEFAULT_PORT = 8787;

function greeting(
  { url, services }: Host,
  { host, port, publicUrl, preview }: Config,
  seconds: number,
): string {
  const key =
    services.authenticator.withoutCredential === undefined ? ` -H 'Authorization: Bearer <key>'` : '';
  const env = port === DEFAULT_PORT ? '' : `PORT=${new URL(url).port} `;
  const elsewhere =
    isWildcard(host) && publicUrl === undefined && preview.zoneSuffix === 'localhost'
      ? `
  Listening on every address. Previews are reachable from this machine alone until PORTHOLE_PUBLIC_URL and
  Sandbox__Preview__ZoneSuffix name a domain whose subdomains lead here.
`
      : '';
  return `
  Porthole is up (${seconds.toFixed(1)} s)

  Console       ${url}
  API           ${url}
  Docs          ${url}/v1/openapi
  Health        ${url}/health
${elsewhere}
  Try next, in another terminal:
    ${`${env}npm run demo`.padEnd(34)}a Vite project in a sandbox, live in your browser
    curl -X POST${key} ${url}/api/runs
                                      a run with a sandbox of its own

`;
}

function say(text: string): void {
  process.stdout.write(text);
}

/** npm passes a Ctrl-C on although the terminal has sent it already: what comes this close is the same one. */
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
