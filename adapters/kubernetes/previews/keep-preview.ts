import { ANNOTATIONS, formatTime, LABELS, parseTime, timeSlot } from '#constructs/names.ts';
import { clampExpiry, maxUntil } from '#core/previews/preview-lifetime.ts';
import { absent, isReason, KubernetesError } from '../client/kubernetes-error.ts';
import { type JsonPatchOperation, pointer } from '../client/kubernetes-object.ts';
import type { PreviewStore, StoredRoute } from './preview-store.ts';

export interface Keepalive {
  readonly name: string;
  readonly runId: string;
  /** By the local clock. */
  readonly expiresAt: Date;
}

const RUN = pointer('metadata', 'annotations', ANNOTATIONS.runId);
const EXPIRES_AT = pointer('metadata', 'annotations', ANNOTATIONS.expiresAt);
const PREVIOUS = pointer('metadata', 'annotations', ANNOTATIONS.previousExpiresAt);
const DUE_SLOT = pointer('metadata', 'labels', LABELS.dueSlot);

/**
 * Tries against concurrent keepalives. Losing is harmless: the others keep the preview alive as
 * well.
 */
const MAX_CORRECTIONS = 5;

/**
 * Moves the expiry of a run's preview in one JSON Patch. It never recreates a deleted preview, and
 * its `test` rejects other runs. The patch also copies the replaced expiry, so the response shows
 * whether the expiry moved backwards or past the end of the preview's life. Only then a second
 * patch corrects it.
 *
 * An admission policy that rejects an expiry past max-until adds one read and a second patch, only
 * in the last idle window.
 */
export async function keepPreview(
  store: PreviewStore,
  { name, runId, expiresAt }: Keepalive,
  maxLifetimeHours: number,
  signal?: AbortSignal,
): Promise<StoredRoute | undefined> {
  const { client, routes, toStore } = store;
  const sent = toStore(expiresAt);
  let route: StoredRoute;
  try {
    route = await client.jsonPatch(
      routes,
      name,
      [
        { op: 'test', path: RUN, value: runId },
        { op: 'copy', from: EXPIRES_AT, path: PREVIOUS },
        ...move(sent),
      ],
      signal,
    );
  } catch (error) {
    if (isReason(error, 'NotFound')) return undefined;
    if (!isRefusal(error)) throw error;
    const found = await client.get<StoredRoute>(routes, name, signal).catch(absent);
    if (found === undefined || annotation(found, ANNOTATIONS.runId) !== runId) return undefined;
    return extendExpiry(
      store,
      found,
      { runId, atLeast: endOf(found, toStore(expiresAt), maxLifetimeHours) },
      signal,
    );
  }
  // The first response of a process shows how far the API server's clock is ahead.
  const wanted = endOf(route, toStore(expiresAt), maxLifetimeHours);
  const previous = parseTime(annotation(route, ANNOTATIONS.previousExpiresAt));
  const right = previous !== undefined && previous > wanted ? previous : wanted;
  if (right.getTime() === sent.getTime()) return route;
  return extendExpiry(store, route, { runId, atLeast: right, written: sent }, signal);
}

/**
 * Raises the expiry to `atLeast`. A value `written` by this call may be replaced by an earlier one;
 * a value of another writer only by a later one.
 */
async function extendExpiry(
  store: PreviewStore,
  route: StoredRoute,
  { runId, atLeast, written }: { runId: string; atLeast: Date; written?: Date },
  signal: AbortSignal | undefined,
): Promise<StoredRoute | undefined> {
  let existing: StoredRoute | undefined = route;
  for (let corrections = 0; existing !== undefined && corrections < MAX_CORRECTIONS; corrections += 1) {
    const text = annotation(existing, ANNOTATIONS.expiresAt);
    const present = parseTime(text);
    const isOwn = written !== undefined && present?.getTime() === written.getTime();
    if (!isOwn && present !== undefined && present >= atLeast) return existing;
    try {
      return await store.client.jsonPatch(
        store.routes,
        existing.metadata.name,
        [
          { op: 'test', path: RUN, value: runId },
          { op: 'test', path: pointer('metadata', 'uid'), value: existing.metadata.uid },
          ...(text === undefined ? [] : [{ op: 'test', path: EXPIRES_AT, value: text } as const]),
          ...move(atLeast),
        ],
        signal,
      );
    } catch (error) {
      if (isReason(error, 'NotFound')) return undefined;
      if (!isRefusal(error)) throw error;
      const found: StoredRoute | undefined = await store.client
        .get<StoredRoute>(store.routes, existing.metadata.name, signal)
        .catch(absent);
      existing = found?.metadata.uid === existing.metadata.uid ? found : undefined;
    }
  }
  return existing;
}

function move(expiresAt: Date): JsonPatchOperation[] {
  return [
    { op: 'add', path: EXPIRES_AT, value: formatTime(expiresAt) },
    { op: 'add', path: DUE_SLOT, value: timeSlot(expiresAt) },
  ];
}

/** `wanted`, limited to max-until and to the maximum lifetime since creation on the API server. */
function endOf(route: StoredRoute, wanted: Date, maxLifetimeHours: number): Date {
  const created = Date.parse(route.metadata.creationTimestamp);
  const oldest = Number.isNaN(created) ? undefined : maxUntil(new Date(created), { maxLifetimeHours });
  return clampExpiry(clampExpiry(wanted, parseTime(annotation(route, ANNOTATIONS.maxUntil))), oldest);
}

function annotation(route: StoredRoute, name: string): string | undefined {
  return route.metadata.annotations?.[name];
}

/**
 * A failed `test` or a rejection by an admission policy: both answer 4xx, and only a read
 * distinguishes them. A missing RBAC permission is neither.
 */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof KubernetesError) || / cannot patch resource /.test(error.message)) return false;
  return [400, 403, 422].includes(error.status);
}
