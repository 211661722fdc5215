import { randomUUID } from 'node:crypto';
import { applyJsonPatch, applyMergePatch } from './json-patch.ts';
import { labelSelector } from './label-selector.ts';
import { Refusal } from './refusal.ts';
import { KINDS, type StoredObject, validate } from './validate.ts';

/** One line of the watch log. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly plural: string;
  readonly object: StoredObject;
}

export interface ApiStoreOptions {
  readonly now: () => Date;
  /** Maximum objects per kind, like a ResourceQuota `count/…`; `unknown` until it is counted. */
  readonly quota?: Readonly<Record<string, number | 'unknown'>>;
  /** Why an admission policy rejects it; undefined to admit it. */
  readonly admit?: (
    plural: string,
    object: StoredObject,
    old: StoredObject | undefined,
  ) => string | undefined;
}

/** The objects of one namespace, with an API server's rules for changes. Each method is atomic. */
export interface ApiStore {
  /** In the server's list order. */
  all(plural: string): StoredObject[];
  get(plural: string, name: string): StoredObject;
  create(plural: string, body: unknown): StoredObject;
  patch(plural: string, name: string, type: string, patch: unknown): StoredObject;
  delete(plural: string, name: string, body: unknown): StoredObject;
  list(plural: string, query: URLSearchParams): { items: StoredObject[]; continue: string | undefined };
  /** Stores an object unchanged, bypassing all rules except its resource version and uid. */
  plant(plural: string, object: unknown): StoredObject;
  /** Expires every `continue` issued so far; with `offer`, a new one is offered instead. */
  expireContinues(offer: boolean): void;
  /** Removes dependents of deleted owners; returns their number. */
  collectGarbage(): number;
  /** All events so far. */
  readonly events: readonly StoreEvent[];
}

export function createApiStore({ now, quota = {}, admit }: ApiStoreOptions): ApiStore {
  const kinds = new Map<string, Map<string, StoredObject>>();
  const events: StoreEvent[] = [];
  const snapshots = new Map<string, StoredObject[]>();
  let expired: 'offer' | 'no-offer' | undefined;
  let version = 1_000;

  const of = (plural: string) => {
    const known = kinds.get(plural) ?? new Map<string, StoredObject>();
    kinds.set(plural, known);
    return known;
  };
  const existing = (plural: string, name: string) => {
    const found = of(plural).get(name);
    if (found !== undefined) return found;
    throw new Refusal(404, 'NotFound', `${plural} "${name}" not found`);
  };
  const store = (type: StoreEvent['type'], plural: string, object: StoredObject): StoredObject => {
    version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    if (type === 'DELETED') of(plural).delete(object.metadata.name);
    else of(plural).set(object.metadata.name, stored);
    events.push({ type, plural, object: stored });
    return stored;
  };
  const admitted = (plural: string, object: StoredObject, old?: StoredObject) => {
    const why = admit?.(plural, object, old);
    if (why === undefined) return;
    throw new Refusal(
      422,
      'Invalid',
      `${plural} "${object.metadata.name}" is forbidden: ValidatingAdmissionPolicy 'previews' with binding 'previews' denied request: ${why}`,
    );
  };
  const sorted = (plural: string) =>
    [...of(plural).values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));

  return {
    events,
    all: sorted,
    get: existing,

    create(plural, body) {
      const object = structuredClone(body) as StoredObject;
      const { apiVersion, kind } = KINDS[plural] ?? {};
      if (object.apiVersion !== apiVersion || object.kind !== kind) {
        throw new Refusal(
          400,
          'BadRequest',
          `${object.kind} in version "${object.apiVersion}" cannot be handled`,
        );
      }
      if (object.metadata.resourceVersion) {
        throw new Refusal(400, 'BadRequest', 'resourceVersion should not be set on objects to be created');
      }
      const { name } = object.metadata;
      validate(plural, object);
      admitted(plural, object);
      if (of(plural).has(name)) throw new Refusal(409, 'AlreadyExists', `${plural} "${name}" already exists`);
      const most = quota[plural];
      if (most === 'unknown') {
        throw new Refusal(
          403,
          'Forbidden',
          `${plural} "${name}" is forbidden: status unknown for quota: previews, resources: count/${plural}`,
        );
      }
      if (most !== undefined && of(plural).size >= most) {
        throw new Refusal(
          403,
          'Forbidden',
          `${plural} "${name}" is forbidden: exceeded quota: previews, requested: count/${plural}=1, used: count/${plural}=${most}, limited: count/${plural}=${most}`,
        );
      }
      const creationTimestamp = now()
        .toISOString()
        .replace(/\.\d{3}Z$/, 'Z');
      object.metadata = { ...object.metadata, uid: randomUUID(), generation: 1, creationTimestamp };
      return store('ADDED', plural, object);
    },

    patch(plural, name, type, patch) {
      const old = existing(plural, name);
      let next: StoredObject;
      if (type === 'application/merge-patch+json') {
        next = applyMergePatch(old, patch) as StoredObject;
      } else if (type === 'application/json-patch+json') {
        try {
          next = applyJsonPatch(old, patch) as StoredObject;
        } catch {
          throw new Refusal(422, 'Invalid', 'the server rejected our request due to an error in our request');
        }
      } else {
        throw new Refusal(
          415,
          'UnsupportedMediaType',
          `the body of the request was in an unknown format: ${type}`,
        );
      }
      const { resourceVersion, uid } = next.metadata;
      if (resourceVersion !== old.metadata.resourceVersion || uid !== old.metadata.uid) {
        throw new Refusal(
          409,
          'Conflict',
          `Operation cannot be fulfilled on ${plural} "${name}": the object has been modified; please apply your changes to the latest version and try again`,
        );
      }
      validate(plural, next);
      admitted(plural, next, old);
      if (JSON.stringify(next) === JSON.stringify(old)) return old;
      const changed = JSON.stringify(next.spec) !== JSON.stringify(old.spec);
      next.metadata.generation = old.metadata.generation + (changed ? 1 : 0);
      return store('MODIFIED', plural, next);
    },

    delete(plural, name, body) {
      const object = existing(plural, name);
      const { preconditions = {} } = (body ?? {}) as {
        preconditions?: { uid?: string; resourceVersion?: string };
      };
      for (const key of ['uid', 'resourceVersion'] as const) {
        if (preconditions[key] !== undefined && preconditions[key] !== object.metadata[key]) {
          throw new Refusal(
            409,
            'Conflict',
            `Operation cannot be fulfilled on ${plural} "${name}": the ${key} in the precondition (${preconditions[key]}) does not match the ${key} in record (${object.metadata[key]}). The object might have been deleted and then recreated`,
          );
        }
      }
      return store('DELETED', plural, object);
    },

    list(plural, query) {
      const limit = Number(query.get('limit') ?? 0);
      const token = query.get('continue');
      let rest: StoredObject[];
      if (token) {
        const kept = snapshots.get(token);
        if (kept === undefined || expired !== undefined) {
          const offered = expired === 'offer' ? randomUUID() : undefined;
          if (offered !== undefined) {
            // Like the real server: continues after the same key, in the current state.
            const from = kept?.[0]?.metadata.name ?? '';
            snapshots.set(
              offered,
              sorted(plural).filter((object) => object.metadata.name >= from),
            );
          }
          expired = undefined;
          throw new Refusal(410, 'Expired', 'The provided continue parameter is too old.', offered);
        }
        rest = kept;
      } else {
        rest = sorted(plural);
      }
      const matches = labelSelector(query.get('labelSelector') ?? '');
      rest = rest.filter((object) => matches(object.metadata.labels ?? {}));
      if (limit === 0 || rest.length <= limit) return { items: rest, continue: undefined };
      const next = randomUUID();
      snapshots.set(next, rest.slice(limit));
      return { items: rest.slice(0, limit), continue: next };
    },

    plant(plural, object) {
      const given = structuredClone(object) as StoredObject;
      given.metadata = { ...given.metadata, uid: given.metadata.uid ?? randomUUID() };
      return store('ADDED', plural, given);
    },

    expireContinues(offer) {
      expired = offer ? 'offer' : 'no-offer';
    },

    collectGarbage() {
      const uids = new Set(
        [...kinds.values()].flatMap((objects) => [...objects.values()].map((o) => o.metadata.uid)),
      );
      let removed = 0;
      for (const [plural, objects] of kinds) {
        for (const object of objects.values()) {
          const owners = object.metadata.ownerReferences ?? [];
          if (owners.length === 0 || owners.some(({ uid }) => uids.has(uid))) continue;
          store('DELETED', plural, object);
          removed += 1;
        }
      }
      return removed;
    },
  };
}
