/** Paths of every preview's host that Porthole answers, and not its app. */
const OWN = '/.porthole/';
const SIBLING = /^\/\.porthole\/([1-9]\d{0,4})(?=[/?]|$)/;

/** The app of another port of the run, below the host of a preview. */
export interface SiblingPath {
  /** `/.porthole/{port}` */
  readonly prefix: string;
  readonly targetPort: number;
  /** What that app gets. */
  readonly url: string;
}

export type OwnPath =
  | { readonly kind: 'enter' | 'localhost' | 'report' }
  | ({ readonly kind: 'sibling' } & SiblingPath);

/** Undefined for a path of the app. The first comparison is all that most requests cost. */
export function ownPath(url: string | undefined): OwnPath | undefined {
  if (url === undefined || !url.startsWith(OWN)) return undefined;
  const path = url.split('?', 1)[0];
  if (path === `${OWN}enter`) return { kind: 'enter' };
  if (path === `${OWN}report`) return { kind: 'report' };
  if (path === `${OWN}localhost.js`) return { kind: 'localhost' };
  const [prefix, port] = SIBLING.exec(url) ?? [];
  if (prefix === undefined) return undefined;
  const rest = url.slice(prefix.length);
  return {
    kind: 'sibling',
    prefix,
    targetPort: Number(port),
    url: rest.startsWith('/') ? rest : `/${rest}`,
  };
}

/** Where the app of a port is, on the host of a preview of its run. */
export function siblingPrefix(targetPort: number): string {
  return `${OWN}${targetPort}`;
}
