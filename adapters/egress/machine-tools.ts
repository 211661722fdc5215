import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { endpointOf } from '#core/network/network-host.ts';
import { CERTIFICATE_VARIABLES, NETWORK, proxyEnvironment } from '#protocol/guest/network.ts';
import type { MachineRegistry } from '#core/network/network-presets.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** Settings that sandboxes inherit from this machine's package managers. */
export interface MachineTools {
  readonly registries: readonly MachineRegistry[];
  /** For every command in a sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * PEM. The machine's certificate authorities with the public ones; undefined if it configures
   * none.
   */
  readonly certificates: string | undefined;
}

/**
 * Reads npm's and pip's configuration of this user and this machine. Credentials are not passed on.
 */
export function readMachineTools(environment: Variables): MachineTools {
  const npm = readNpm(environment);
  const pip = readPip(environment);
  const npmRegistry = registryUrl(npm.get('registry'));
  const indexes = [pip.get('index-url'), ...(pip.get('extra-index-url') ?? '').split(/\s+/)]
    .map(registryUrl)
    .filter((url) => url !== undefined);
  const scoped = [...npm]
    .filter(([name]) => /^@[^:]+:registry$/.test(name))
    .map(([, value]) => registryUrl(value))
    .filter((url) => url !== undefined);
  const authorities = readAuthorities(environment, [npm.get('cafile'), pip.get('cert')]);
  const [index, ...more] = indexes;
  return {
    registries: [
      ...[npmRegistry, ...scoped].flatMap((url) => (url === undefined ? [] : [registryOf('npm', url)])),
      ...indexes.map((url) => registryOf('pypi', url)),
    ],
    environment: {
      ...proxyEnvironment(),
      ...(npmRegistry !== undefined && { npm_config_registry: npmRegistry.href }),
      ...(index !== undefined && pip.get('index-url') !== undefined && { PIP_INDEX_URL: index.href }),
      ...(more.length > 0 && { PIP_EXTRA_INDEX_URL: more.map(({ href }) => href).join(' ') }),
      ...(authorities.length > 0 &&
        Object.fromEntries(CERTIFICATE_VARIABLES.map((name) => [name, NETWORK.certificates]))),
    },
    // On demand: functions do not use it, and the public authorities load all of TLS.
    get certificates() {
      // Most tools read such a file instead of the public authorities.
      return authorities.length === 0 ? undefined : [...authorities, ...rootCertificates].join('\n');
    },
  };
}

function registryOf(preset: string, url: URL): MachineRegistry {
  return { preset, ...endpointOf(url) };
}

/** Removes user, password and query. Returns undefined for anything but an HTTP or HTTPS URL. */
function registryUrl(text: string | undefined): URL | undefined {
  const url = URL.parse(text ?? '');
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return undefined;
  return Object.assign(url, { username: '', password: '', search: '' });
}

function readNpm(environment: Variables): Map<string, string> {
  const files = [
    environment['npm_config_globalconfig'] ?? '/usr/etc/npmrc',
    environment['npm_config_userconfig'] ?? join(environment['HOME'] ?? '', '.npmrc'),
  ];
  return readSettings(files, ['registry', 'cafile'], (name) => {
    return environment[`npm_config_${name}`] ?? environment[`NPM_CONFIG_${name.toUpperCase()}`];
  });
}

function readPip(environment: Variables): Map<string, string> {
  const home = environment['HOME'] ?? '';
  const files = [
    '/etc/pip.conf',
    join(home, '.pip', 'pip.conf'),
    join(environment['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'pip', 'pip.conf'),
    environment['PIP_CONFIG_FILE'] ?? '',
  ];
  return readSettings(files, ['index-url', 'extra-index-url', 'cert'], (name) => {
    return environment[`PIP_${name.replaceAll('-', '_').toUpperCase()}`];
  });
}

/** The settings of some files; a later one, and then the environment, comes first. */
function readSettings(
  files: readonly string[],
  names: readonly string[],
  variable: (name: string) => string | undefined,
): Map<string, string> {
  const settings = new Map(files.flatMap(readLines));
  for (const name of names) {
    const value = variable(name);
    if (value) settings.set(name, value);
  }
  return settings;
}

/** Reads `name = value` lines of all sections. Empty for a file that cannot be read. */
function readLines(file: string): [string, string][] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const at = line.indexOf('=');
        const name = line.slice(0, Math.max(0, at)).trim();
        if (name === '' || /^[#;[]/.test(name)) return [];
        const value = line.slice(at + 1).trim();
        return [[name, value.replace(/^"(.*)"$/, '$1')]];
      });
  } catch {
    return [];
  }
}

function readAuthorities(environment: Variables, named: readonly (string | undefined)[]): readonly string[] {
  const files = [...named, environment['NODE_EXTRA_CA_CERTS'], environment['SSL_CERT_FILE']];
  return [...new Set(files)].flatMap((file) => {
    try {
      return file === undefined || file === '' ? [] : [readFileSync(file, 'utf8')];
    } catch {
      return [];
    }
  });
}
