import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export type EngineAddress =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly isSecure: boolean };

const DEFAULT_SOCKET = '/var/run/docker.sock';

const PORTS = { plain: 2375, secure: 2376 } as const;

/**
 * Reads the value of `DOCKER_HOST` like the docker command: `unix:///path` or `tcp://host:port`.
 * Undefined means the machine's own engine, or Docker Desktop's. Over TCP it uses TLS if
 * `DOCKER_TLS_VERIFY` is set, and port 2376.
 * @throws Error for any other value
 */
export function engineAddress(host: string | undefined, verifyTls = false): EngineAddress {
  if (host === undefined || host === '') return { kind: 'socket', path: ownSocket() };
  const path = /^unix:\/\/(\/.+)$/.exec(host)?.[1];
  if (path !== undefined) return { kind: 'socket', path };
  const address = /^(tcp|http|https):\/\/[^/?#@]+\/?$/.test(host) ? URL.parse(host) : null;
  if (address === null) throw new Error('must be unix:///path or tcp://host:port');
  const isSecure = verifyTls || address.protocol === 'https:' || address.port === String(PORTS.secure);
  return {
    kind: 'tcp',
    host: address.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: address.port === '' ? (isSecure ? PORTS.secure : PORTS.plain) : Number(address.port),
    isSecure,
  };
}

/** For messages. */
export function addressText(address: EngineAddress): string {
  if (address.kind === 'socket') return `unix://${address.path}`;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return `tcp://${host}:${address.port}`;
}

function ownSocket(): string {
  const desktop = join(homedir(), '.docker/run/docker.sock');
  return !existsSync(DEFAULT_SOCKET) && existsSync(desktop) ? desktop : DEFAULT_SOCKET;
}
