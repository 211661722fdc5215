import { isIPv4 } from 'node:net';
import { contains } from '#base/address-range.ts';

/** The machine's HTTP proxies, from its environment variables. */
export interface MachineProxies {
  /** For port 80. */
  readonly http: URL | undefined;
  /** For every other port. */
  readonly https: URL | undefined;
  /** Hosts reached without a proxy. */
  readonly except: readonly string[];
}

export const NO_PROXIES: MachineProxies = { http: undefined, https: undefined, except: [] };

type Name = 'http_proxy' | 'https_proxy' | 'all_proxy' | 'no_proxy';
type Variables = Readonly<Partial<Record<Name | Uppercase<Name>, string | undefined>>>;

/**
 * Reads the variables that curl and most programs read. The lower-case name wins where both are
 * set.
 */
export function readMachineProxies(environment: Variables): MachineProxies {
  const read = (name: Name) => environment[name] || environment[name.toUpperCase() as Uppercase<Name>];
  const all = read('all_proxy');
  return {
    http: proxyUrl(read('http_proxy') ?? all),
    https: proxyUrl(read('https_proxy') ?? all),
    except: (read('no_proxy') ?? '')
      .split(',')
      .map((each) => each.trim().toLowerCase())
      .filter((each) => each !== ''),
  };
}

/** Without a scheme it is HTTP. A SOCKS proxy of the machine is not used. */
function proxyUrl(text: string | undefined): URL | undefined {
  if (text === undefined || text === '') return undefined;
  const url = URL.parse(/^[a-z\d+]+:\/\//i.test(text) ? text : `http://${text}`);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}

export function proxyFor(
  { http, https, except }: MachineProxies,
  host: string,
  port: number,
): URL | undefined {
  const isExcepted = except.some((each) => matches(each, host, port));
  return isExcepted ? undefined : port === 80 ? http : https;
}

function matches(entry: string, host: string, port: number): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isIPv4(host) && contains(entry, `${host}/32`);
  const [, name = entry, only] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  if (only !== undefined && Number(only) !== port) return false;
  const base = name.replace(/^\*?\./, '');
  return host === base || host.endsWith(`.${base}`);
}
