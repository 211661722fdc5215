import { PortholeError } from '#base/errors.ts';
import type { AccessLevel } from '#protocol/preview-access.ts';

/** The `Sandbox:Preview` section, under the reference's own names in lower camel case. */
export interface PreviewOptions {
  readonly enabled: boolean;
  /** Previews are `{token}-preview.{zoneSuffix}`. */
  readonly zoneSuffix: string;
  readonly gatewayName: string;
  readonly gatewayNamespace: string;
  /** Further zones, in a cluster. */
  readonly zones: readonly PreviewZone[];
  readonly namespace: string;
  /**
   * In a cluster, the target of a preview's Service: the guest, which proxies to the app on
   * loopback; or the app's own port, which must then listen on the pod's address.
   */
  readonly upstream: 'guest' | 'direct';
  readonly idleTimeoutMinutes: number;
  readonly maxLifetimeHours: number;
  readonly keepAfterRun: boolean;
  readonly allowedPortMin: number;
  readonly allowedPortMax: number;
  readonly autoApprove: boolean;
  /** Who may open a preview if its owner has set nothing. */
  readonly access: AccessLevel;
  /** The widest level that an owner may set. */
  readonly maxAccess: AccessLevel;
  /** Where visitors report a preview: a mail address, or an https URL. */
  readonly reportContact?: string | undefined;
  /** How often in an hour the visitors by one link may start a stopped preview. */
  readonly maxWakesPerLink: number;
  /** How often in an hour visitors may start stopped previews of one owner. */
  readonly maxWakesPerOwner: number;
  /** Names of one owner's previews, those given back in the last 30 days included. */
  readonly maxNamesPerOwner: number;
  readonly maxPerRun: number;
  /** Maximum live previews of all owners together. */
  readonly maxTotal: number;
  readonly readyTimeoutSeconds: number;
}

/** The previews of some orgs: their zone, and the Gateway that serves it. */
export interface PreviewZone {
  readonly zone: string;
  readonly orgs: readonly string[];
  /** Of its previews. @default - as in all other zones */
  readonly access?: AccessLevel | undefined;
  readonly maxAccess?: AccessLevel | undefined;
  readonly gateway: {
    readonly kind?: 'Gateway' | 'ListenerSet' | 'XListenerSet' | undefined;
    readonly name: string;
    readonly namespace: string;
    readonly sectionName?: string | undefined;
  };
}

/** Default and maximum of the access to previews. */
export type AccessLevels = Pick<PreviewOptions, 'access' | 'maxAccess'>;

/** Those of the zone in which an org has its previews. */
export function levelsOf(
  { access, maxAccess, zones }: AccessLevels & Pick<PreviewOptions, 'zones'>,
  org: string,
): AccessLevels {
  const zone = zones.find(({ orgs }) => orgs.includes(org));
  return { access: zone?.access ?? access, maxAccess: zone?.maxAccess ?? maxAccess };
}

/** The zone in which an org has its previews. */
export function zoneOf(
  { zoneSuffix, zones }: Pick<PreviewOptions, 'zoneSuffix' | 'zones'>,
  org: string,
): string {
  return zones.find(({ orgs }) => orgs.includes(org))?.zone ?? zoneSuffix;
}

/** Every zone, the one of orgs without their own first. */
export function zoneNames({ zoneSuffix, zones }: Pick<PreviewOptions, 'zoneSuffix' | 'zones'>): string[] {
  return [zoneSuffix, ...zones.map(({ zone }) => zone)];
}

/** @param what the limit and the counted objects, e.g. `100 previews of this installation` */
export function tooManyPreviews(what: string, cause?: unknown): PortholeError {
  return new PortholeError('too_many_previews', `All ${what} are in use`, {
    remedy: 'stop one first.',
    cause,
  });
}

/** The order of previews for the cap: older ones stay. */
export interface Ranked {
  readonly name: string;
  readonly createdAt: Date;
}

/**
 * Whether `mine` is one of the first `places` among `live` (itself included or not), by the order
 * of (createdAt, name). Every starter checks after creating, so concurrent starters agree on who
 * withdraws, unless a later creation has an earlier timestamp.
 */
export function isAmongFirst(mine: Ranked, live: readonly Ranked[], places: number): boolean {
  let ahead = 0;
  for (const other of live) if (other.name !== mine.name && precedes(other, mine)) ahead += 1;
  return ahead < places;
}

function precedes(a: Ranked, b: Ranked): boolean {
  const difference = a.createdAt.getTime() - b.createdAt.getTime();
  return difference !== 0 ? difference < 0 : a.name < b.name;
}

/**
 * The ports that previews may expose, inclusive; the NetworkPolicy and the admission policy use the
 * same range.
 */
export interface PortRange {
  readonly allowedPortMin: number;
  readonly allowedPortMax: number;
}

/**
 * @throws PortholeError `invalid_port` outside 1..65535, `port_out_of_range` outside the allowed
 * range
 */
export function checkTargetPort(port: number, range: PortRange): number {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new PortholeError(
      'invalid_port',
      `target_port must be an integer between 1 and 65535, got ${port}.`,
    );
  }
  if (port < range.allowedPortMin || port > range.allowedPortMax) {
    throw new PortholeError(
      'port_out_of_range',
      `preview port must be between ${range.allowedPortMin} and ${range.allowedPortMax}, got ${port}: ` +
        'start the server on a port in that range.',
    );
  }
  return port;
}
