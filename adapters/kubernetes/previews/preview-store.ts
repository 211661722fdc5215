import { ANNOTATIONS, LABELS, labelValue, parseTime, PREVIEW_LABELS, readNotes } from '#constructs/names.ts';
import type { Preview } from '#core/previews/preview-plane.ts';
import { parsePreviewHost, previewHost, previewName, zoneOfHost } from '#core/previews/preview-token.ts';
import { RUN_ID } from '#core/runs/find-run.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import {
  collection,
  type Collection,
  HTTP_ROUTES,
  type KubernetesObject,
  SERVICES,
} from '../client/kubernetes-object.ts';
import type { Condition } from '../sandboxes/pod-state.ts';

/** Storage of previews: two collections of one namespace, and the clock of their times. */
export interface PreviewStore {
  readonly client: KubernetesClient;
  readonly services: Collection;
  readonly routes: Collection;
  /** Now, by the API server's clock. */
  readonly now: () => Date;
  /** Converts a local time to the API server's clock. */
  readonly toStore: (time: Date) => Date;
  /** Converts a time of the API server's clock to local time. */
  readonly fromStore: (time: Date) => Date;
  /** Reads a route as a preview; undefined when it is not ours, malformed or being deleted. */
  readonly read: (route: StoredRoute) => Preview | undefined;
  /** The owner Service of a preview from `read`, without reading its route. */
  readonly ownerService: (preview: Pick<Preview, 'name'>) => OwnerService | undefined;
}

/**
 * After this time, in milliseconds, a start can no longer add a route to a Service that it created
 * or claimed.
 */
export const START_OVER_MS = 120_000;

interface PreviewStoreOptions {
  readonly client: KubernetesClient;
  readonly namespace: string;
  readonly zones: readonly string[];
  /** Public URL of a host, e.g. `https://` and the host. */
  readonly urlOf: (host: string) => string;
  readonly clock: Clock;
}

export function createPreviewStore(options: PreviewStoreOptions): PreviewStore {
  const { client, namespace, clock } = options;
  const move = (time: Date, by: number) => (by === 0 ? time : new Date(time.getTime() + by));
  const fromStore = (time: Date) => move(time, -client.time.ahead());
  const toStore = (time: Date) => move(time, client.time.ahead());
  const ownerServices = new WeakMap<Pick<Preview, 'name'>, OwnerService>();
  return {
    client,
    services: collection(SERVICES, namespace),
    routes: collection(HTTP_ROUTES, namespace),
    now: () => toStore(clock.now()),
    toStore,
    fromStore,
    read(route) {
      const preview = readPreview(route, options, fromStore);
      const ownerService = ownerServiceOf(route);
      if (preview !== undefined && ownerService !== undefined) ownerServices.set(preview, ownerService);
      return preview;
    },
    ownerService: (preview) => ownerServices.get(preview),
  };
}

/** Fields read from a preview's Service. */
export interface StoredService extends KubernetesObject {
  readonly spec?: { readonly ports?: readonly { readonly targetPort?: number | string }[] };
}

/** Fields read from a preview's HTTPRoute. */
export interface StoredRoute extends KubernetesObject {
  readonly spec?: { readonly hostnames?: readonly string[]; readonly parentRefs?: readonly unknown[] };
  readonly status?: {
    readonly parents?: readonly {
      readonly parentRef?: { readonly kind?: string; readonly name?: string; readonly namespace?: string };
      readonly conditions?: readonly Condition[];
    }[];
  };
}

const MEMBER_LABELS = { runId: LABELS.run, owner: LABELS.owner, sandboxId: LABELS.sandbox } as const;

/**
 * Selects the previews of one run, owner or sandbox by that label alone: the API server compares
 * every term with the labels of every object.
 */
export function memberSelector(of: keyof typeof MEMBER_LABELS, value: string): string {
  return `${MEMBER_LABELS[of]}=${labelValue(value)}`;
}

/** The Services that a `memberSelector` selects, at or after the version `notOlderThan`. */
export async function memberServices(
  { client, services }: PreviewStore,
  labelSelector: string,
  notOlderThan: string | undefined,
  signal?: AbortSignal,
): Promise<readonly StoredService[]> {
  const found: StoredService[] = [];
  for await (const service of client.list<StoredService>(
    services,
    { labelSelector, metadataOnly: true, notOlderThan },
    signal,
  )) {
    if (isOurs(service)) found.push(service);
  }
  return found;
}

/** Whether a start that did not create the Service has claimed it for its route. */
export function isClaimed({ metadata: { annotations } }: StoredService): boolean {
  return annotations?.[ANNOTATIONS.claimedAt] !== undefined;
}

/**
 * Whether no start can add a route to the Service any more without claiming it first. `now` uses
 * the API server's clock.
 */
export function isStartOver(service: StoredService, now: Date, afterMs = START_OVER_MS): boolean {
  return now.getTime() - lastStart(service) >= afterMs;
}

/** The earliest ticket of the starts that may still add their route to the Service. */
export function earliestTicket({ metadata: { annotations, resourceVersion } }: StoredService): string {
  return annotations?.[ANNOTATIONS.earliestTicket] ?? resourceVersion;
}

/** When a start last created or claimed it. An unreadable time counts as never claimed. */
function lastStart({ metadata: { creationTimestamp, annotations } }: StoredService): number {
  const claimed = parseTime(annotations?.[ANNOTATIONS.claimedAt]);
  return Math.max(Date.parse(creationTimestamp), claimed?.getTime() ?? 0);
}

export function isOurs({ metadata: { labels } }: KubernetesObject): boolean {
  return Object.entries(PREVIEW_LABELS).every(([name, value]) => labels?.[name] === value);
}

/**
 * Reads a route as a preview. Returns undefined unless the route is exactly as Porthole creates it:
 * it belongs to another owner then and must not be changed. Only times may be unreadable; they are
 * then ignored.
 */
function readPreview(
  route: StoredRoute,
  { zones, urlOf }: Pick<PreviewStoreOptions, 'zones' | 'urlOf'>,
  fromStore: (time: Date) => Date,
): Preview | undefined {
  const { metadata, spec } = route;
  const { annotations = {}, name } = metadata;
  if (!isOurs(route) || metadata.deletionTimestamp !== undefined) return undefined;
  const [hostname, namedHost, ...more] = spec?.hostnames ?? [];
  if (hostname === undefined || more.length > 0) return undefined;
  const zone = zoneOfHost(hostname);
  if (namedHost !== undefined && parsePreviewHost(namedHost, zone).kind !== 'named') return undefined;
  const host = parsePreviewHost(hostname, zone);
  if (host.kind !== 'token' || previewHost(host.token, zone) !== hostname) return undefined;
  if (previewName(host.token) !== name) return undefined;

  const notes = readNotes(annotations);
  const { runId, owner, sandboxId, podName, targetPort } = notes;
  if (runId === undefined || !RUN_ID.test(runId)) return undefined;
  if (owner === undefined || sandboxId === undefined) return undefined;
  if (podName === undefined || targetPort === undefined) return undefined;

  const ours = (time: Date | undefined) => time && fromStore(time);
  const createdAt = ours(parseTime(metadata.creationTimestamp));
  if (createdAt === undefined) return undefined;
  return {
    ...notes,
    name,
    token: host.token,
    runId,
    owner,
    sandboxId,
    podName,
    targetPort,
    createdAt,
    startedAt: ours(notes.startedAt) ?? createdAt,
    expiresAt: ours(notes.expiresAt),
    maxUntil: ours(notes.maxUntil),
    url: urlOf(hostname),
    ...(namedHost !== undefined && { namedHost }),
    // The gateway serves the route of a former zone until the route is deleted.
    hasFormerZone: !zones.includes(zone),
    isDetached: (spec?.parentRefs ?? []).length === 0,
    localPort: 0,
    uid: metadata.uid,
    version: metadata.resourceVersion,
  };
}

/** The Service that owns a route, as of the route's creation. */
export interface OwnerService {
  readonly name: string;
  readonly routeUid: string;
  /** UID of the Service. */
  readonly uid: string;
  readonly version: string | undefined;
  /** The start that created the route. */
  readonly attempt: string | undefined;
  /**
   * The Service's version after that start created or claimed it; undefined where the route lacks
   * it.
   */
  readonly ticket: string | undefined;
}

/** Undefined where the route has no owner reference to a Service of the same name. */
export function ownerServiceOf({ metadata }: StoredRoute): OwnerService | undefined {
  const { name, ownerReferences = [], annotations = {} } = metadata;
  const owner = ownerReferences.find((each) => each.kind === 'Service' && each.name === name);
  if (owner === undefined) return undefined;
  return {
    name,
    routeUid: metadata.uid,
    uid: owner.uid,
    version: annotations[ANNOTATIONS.serviceVersion],
    attempt: annotations[ANNOTATIONS.attempt],
    ticket: annotations[ANNOTATIONS.ticket],
  };
}
