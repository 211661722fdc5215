import { ANNOTATIONS, parseTime, PREVIEW_LABELS, readNotes } from '#constructs/names.ts';
import type { Preview } from '#core/previews/preview-plane.ts';
import { parsePreviewHost, previewHost, previewName } from '#core/previews/preview-token.ts';
import { RUN_ID } from '#core/runs/find-run.ts';
import type { KubernetesObject } from '../client/kubernetes-object.ts';
import type { StoredRoute } from './preview-store.ts';

export interface ReadPreviewOptions {
  readonly zones: readonly string[];
  readonly urlOf: (host: string) => string;
  readonly fromStore: (time: Date) => Date;
}

/** Whether an object has the labels of a preview. */
export function isOurs({ metadata: { labels } }: KubernetesObject): boolean {
  return Object.entries(PREVIEW_LABELS).every(([name, value]) => labels?.[name] === value);
}

/**
 * Reads a route as a preview. Returns undefined unless the route is exactly as Porthole creates it:
 * it belongs to another owner then and must not be changed. Only times may be unreadable; they are
 * then ignored.
 */
export function readPreview(
  route: StoredRoute,
  { zones, urlOf, fromStore }: ReadPreviewOptions,
): Preview | undefined {
  const { metadata, spec } = route;
  const { annotations = {}, name } = metadata;
  if (!isOurs(route) || metadata.deletionTimestamp !== undefined) return undefined;
  const [hostname, ...more] = spec?.hostnames ?? [];
  if (hostname === undefined || more.length > 0) return undefined;
  const host = parsePreviewHost(hostname, ...zones);
  if (host.kind !== 'token') return undefined;
  if (!zones.some((zone) => previewHost(host.token, zone) === hostname)) return undefined;
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
    localPort: 0,
    uid: metadata.uid,
    version: metadata.resourceVersion,
  };
}

/** The Service that owns a route, as of the route's creation. */
export interface OwnerService {
  readonly name: string;
  /** UID of the route. */
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
