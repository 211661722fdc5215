import type { Config } from './config/config.ts';
import { isWildcard } from './server/known-hosts.ts';

interface Started {
  /** On this machine. */
  readonly url: string;
  readonly port: number;
  readonly needsKey: boolean;
  readonly seconds: number;
}

/** Where the command line looks for Porthole. */
const DEFAULT_URL = 'http://127.0.0.1:8787';
/** Where the demo looks for Porthole. */
const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8787;

/** What `npm start` prints once Porthole is up: where it is, and commands to try. */
export function greeting(
  { url: local, port, needsKey, seconds }: Started,
  { host, tls, publicUrl, preview }: Pick<Config, 'host' | 'preview' | 'publicUrl' | 'tls'>,
): string {
  // The certificate is for the public name.
  const url = tls === undefined || publicUrl === undefined ? local : publicUrl.origin;
  const isOnDefaultUrl =
    url === DEFAULT_URL || (isWildcard(host) && port === DEFAULT_PORT && tls === undefined);
  const up = [
    ...(isOnDefaultUrl ? [] : [`PORTHOLE_URL=${url}`]),
    ...(needsKey ? ['PORTHOLE_API_KEY=<key>'] : []),
    'npx porthole up ../my-app',
  ].join(' ');
  const demo = [
    ...(host === DEFAULT_HOST || isWildcard(host) ? [] : [`HOST=${host}`]),
    ...(port === DEFAULT_PORT ? [] : [`PORT=${port}`]),
    ...(needsKey ? ['SANDBOX_API_KEY=<key>'] : []),
    'npm run demo',
  ].join(' ');
  const commands = [
    [up, 'your project, live in your browser'],
    // The demo speaks HTTP only.
    ...(tls === undefined ? [[demo, 'a Vite project in a sandbox, to try it']] : []),
  ];
  const width = Math.max(34, ...commands.map(([command = '']) => command.length + 2));
  const elsewhere =
    isWildcard(host) && publicUrl === undefined && preview.zoneSuffix === 'localhost'
      ? `
  Listening on every address. Previews are reachable from this machine alone until PORTHOLE_PUBLIC_URL and
  Sandbox__Preview__ZoneSuffix name a domain with subdomains that lead here.
`
      : '';
  return `
  Porthole is up (${seconds.toFixed(1)} s)

  Console       ${url}
  Docs          ${url}/docs
  API           ${url}
  OpenAPI       ${url}/v1/openapi
  Health        ${url}/health
${elsewhere}
  Try next, in another terminal:
${commands.map(([command = '', effect]) => `    ${command.padEnd(width)}${effect}`).join('\n')}

`;
}
