import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ANNOTATIONS, formatTime } from '#constructs/names.ts';
import type { GatewayReference } from '#constructs/gateway-manifests.ts';
import { type PreviewProps, previewManifests } from '#constructs/preview-objects.ts';
import { PortholeError } from '#base/errors.ts';
import { retry } from '#base/retry.ts';
import type { PreviewSpec } from '#core/previews/preview-plane.ts';
import { tooManyPreviews } from '#core/previews/preview-limits.ts';
import { previewHost, previewName } from '#core/previews/preview-token.ts';
import { GUEST_PREVIEW_PORT } from '#protocol/guest/previews-protocol.ts';
import { absent, isReason, KubernetesError } from '../client/kubernetes-error.ts';
import { type JsonPatchOperation, type KubernetesObject, pointer } from '../client/kubernetes-object.ts';
import { retryDelay, within } from '../client/exchange.ts';
import {
  type PreviewStore,
  type StoredRoute,
  type StoredService,
  earliestTicket,
  isClaimed,
  isOurs,
  isStartOver,
  ownerServiceOf,
} from './preview-store.ts';

export interface OpenPreviewOptions {
  readonly store: PreviewStore;
  readonly namespace: string;
  readonly zone: string;
  readonly gateway: GatewayReference;
  readonly serviceKind: 'headless' | 'clusterip';
  readonly publicPort: number;
  /** Target of the Service that this start creates. */
  readonly upstream: 'guest' | 'direct';
  /** Limit of live previews, for the error message. */
  readonly maxTotal: number;
  /**
   * Longest time for a start, in milliseconds: well below the age at which its leftovers are swept.
   * @default 30,000
   */
  readonly timeoutMs?: number | undefined;
}

/** Most rounds of a start. A lost response or a lost race begins a new round. */
const MAX_ROUNDS = 8;
/** Wait after a lost race, in milliseconds, multiplied by the round. */
const RACE_MS = 10;
/**
 * Waits for the route of another start in progress, in milliseconds, before its Service is claimed.
 */
const OTHERS_ROUTE_MS = [10, 20, 40, 80];
/** A start creates its route within this time, in milliseconds, or never. */
const START_MS = 30_000;
/** The quota counts deletions with a delay: retry after these times, in milliseconds. */
const QUOTA_MS = [100, 300, 600];
const ROLLBACK_MS = 5_000;
/** Each round first reads the result of the previous one, so a retry is safe. */
const REPEAT = { inDoubt: true, conflict: false };

/**
 * Creates a preview's Service and then its route, so that no route exists without its Service, or
 * returns the existing route.
 *
 * Names resolve races between starts. The Service's resourceVersion resolves races between starts
 * and deletions: a start claims the Service of another start by a write before it adds a route. An
 * unclaimed Service is deleted only in the version in which its start created it. A claimed one is
 * swept once every start that could add a route has timed out.
 *
 * @throws PortholeError `too_many_previews`, `preview_conflict`; KubernetesError
 */
export async function openPreview(
  options: OpenPreviewOptions,
  spec: PreviewSpec,
  signal?: AbortSignal,
): Promise<Opened> {
  return within(options.timeoutMs ?? START_MS, signal, async (limit) => {
    const start = new PreviewOpening(options, spec, limit);
    try {
      return await rounds(start, limit);
    } catch (error) {
      signal?.throwIfAborted();
      if (!limit.aborted || error instanceof PortholeError) throw error;
      throw tooSlow(start.name, error);
    }
  });
}

function rounds(start: PreviewOpening, signal: AbortSignal): Promise<Opened> {
  let faults = 0;
  const delay = (lost: unknown, round: number): number | undefined => {
    if (!(lost instanceof LostRound)) return undefined;
    const error = lost.cause;
    const isFault = error.status === 0 || error.status >= 500;
    if (isFault) faults += 1;
    const ms = isFault ? retryDelay(error, faults, REPEAT) : RACE_MS * round;
    if (ms === undefined) throw error;
    if (round === MAX_ROUNDS) throw contended(start.name, error);
    return ms;
  };
  const work = async (): Promise<Opened> => {
    const result = await start.round();
    if (result instanceof KubernetesError) throw new LostRound(result);
    return result;
  };
  return retry(work, { delay, signal });
}

/** A lost response or race, after which another round may succeed. */
class LostRound extends Error {
  declare readonly cause: KubernetesError;

  constructor(cause: KubernetesError) {
    super('another round may succeed', { cause });
  }
}

export interface Opened {
  readonly route: StoredRoute;
  readonly created: boolean;
}

/** One call of `open`, identified by its attempt through all rounds. */
class PreviewOpening {
  readonly name: string;
  readonly #options: OpenPreviewOptions;
  readonly #spec: PreviewSpec;
  readonly #signal: AbortSignal;
  readonly #id = randomUUID();
  #claims = 0;

  constructor(options: OpenPreviewOptions, spec: PreviewSpec, signal: AbortSignal) {
    this.#options = options;
    this.#spec = spec;
    this.#signal = signal;
    this.name = previewName(spec.token);
  }

  /**
   * Returns the opened preview, or the error of a lost response or race after which another round
   * may succeed.
   */
  async round(): Promise<Opened | KubernetesError> {
    const { client, services } = this.#options.store;
    let service: StoredService;
    try {
      service = await client.create(services, this.#manifests().service, this.#signal);
    } catch (error) {
      if (!isReason(error, 'AlreadyExists') && !isInDoubt(error)) throw error;
      const existing = await this.#existing();
      if (existing !== undefined) return existing;
      const claimed = await this.#claim();
      if (claimed instanceof KubernetesError) return isInDoubt(error) ? error : claimed;
      if ('route' in claimed) return claimed;
      ({ service } = claimed);
    }
    return this.#putRoute(service);
  }

  /** Changes with every claim, so that the Service's resourceVersion changes. */
  get #attempt(): string {
    return `${this.#id}.${this.#claims}`;
  }

  #isOwn({ metadata: { annotations } }: KubernetesObject): boolean {
    return annotations?.[ANNOTATIONS.attempt]?.startsWith(`${this.#id}.`) ?? false;
  }

  /** Times use the API server's clock, known from the first response. */
  #manifests(upstream = this.#options.upstream) {
    const { store, namespace, zone, gateway, serviceKind, publicPort } = this.#options;
    const { token, startedAt, expiresAt, maxUntil, access, ...rest } = this.#spec;
    const props: PreviewProps = {
      ...rest,
      name: this.name,
      namespace,
      gateway,
      hostname: previewHost(token, zone),
      namedHostname: access?.name === undefined ? undefined : previewHost(access.name, zone),
      publicPort,
      startedAt: store.toStore(startedAt),
      expiresAt: store.toStore(expiresAt),
      maxUntil: store.toStore(maxUntil),
      attempt: this.#attempt,
      serviceKind,
      upstream,
    };
    return previewManifests(props);
  }

  async #existing(signal = this.#signal): Promise<Opened | undefined> {
    const { client, routes, read } = this.#options.store;
    const route = await client.get<StoredRoute>(routes, this.name, signal).catch(absent);
    if (route === undefined || route.metadata.deletionTimestamp !== undefined) return undefined;
    if (read(route)?.token !== this.#spec.token) throw taken(this.name);
    return { route, created: this.#isOwn(route) };
  }

  /**
   * Claims an existing Service: one left behind, one of a start in progress, or our own after a
   * lost response. Returns another start's route if one appears meanwhile, or the error of a lost
   * race.
   */
  async #claim(): Promise<Opened | { service: StoredService } | KubernetesError> {
    const { client, services, now } = this.#options.store;
    try {
      const found = await client.get<StoredService>(services, this.name, this.#signal);
      const attempt = found.metadata.annotations?.[ANNOTATIONS.attempt];
      if (!isOurs(found) || attempt === undefined) throw taken(this.name);
      for (const delay of this.#isOwn(found) ? [] : OTHERS_ROUTE_MS) {
        await pause(delay, undefined, { signal: this.#signal });
        const existing = await this.#existing();
        if (existing !== undefined) return existing;
      }
      this.#claims += 1;
      const note = (name: string) => pointer('metadata', 'annotations', name);
      const service = await client.jsonPatch<StoredService>(
        services,
        this.name,
        [
          { op: 'test', path: pointer('metadata', 'uid'), value: found.metadata.uid },
          { op: 'test', path: note(ANNOTATIONS.attempt), value: attempt },
          { op: 'add', path: note(ANNOTATIONS.attempt), value: this.#attempt },
          { op: 'add', path: note(ANNOTATIONS.claimedAt), value: formatTime(now()) },
          ...this.#keepTicket(found),
        ],
        this.#signal,
      );
      return { service };
    } catch (error) {
      if (isLostRace(error)) return error;
      throw error;
    }
  }

  /**
   * Starts in progress keep their ticket on the Service. An abandoned Service loses its ticket:
   * otherwise it would outrank later starts.
   */
  #keepTicket(found: StoredService): JsonPatchOperation[] {
    const path = pointer('metadata', 'annotations', ANNOTATIONS.earliestTicket);
    // Well before START_OVER_MS and well after any start is over, despite clock skew.
    if (!isStartOver(found, this.#options.store.now(), 2 * START_MS))
      return [{ op: 'add', path, value: earliestTicket(found) }];
    return found.metadata.annotations?.[ANNOTATIONS.earliestTicket] === undefined
      ? []
      : [{ op: 'remove', path }];
  }

  async #putRoute(service: StoredService): Promise<Opened | KubernetesError> {
    try {
      return { route: await this.#createRoute(service), created: true };
    } catch (error) {
      // Unknown outcome: keep the Service, because the route may still appear. If none does, it is
      // swept.
      if (isInDoubt(error)) return (await this.#existing()) ?? error;
      if (isReason(error, 'AlreadyExists')) return (await this.#otherRoute(service)) ?? error;
      if (error instanceof KubernetesError) await this.#removeService(service);
      else await this.#withdraw(service);
      const { maxTotal } = this.#options;
      throw isQuota(error) ? tooManyPreviews(`${maxTotal} previews of this installation`, error) : error;
    }
  }

  async #createRoute(service: StoredService): Promise<StoredRoute> {
    const { client, routes } = this.#options.store;
    const { uid, resourceVersion } = service.metadata;
    const manifest = this.#manifests(upstreamOf(service)).route({
      uid,
      resourceVersion,
      isClaimed: isClaimed(service),
    });
    const create = () => client.create<StoredRoute>(routes, manifest, this.#signal);
    const delay = (error: unknown, tries: number) => (isQuota(error) ? QUOTA_MS[tries - 1] : undefined);
    return retry(create, { delay, signal: this.#signal });
  }

  /** The route that existed before ours. */
  async #otherRoute(service: StoredService): Promise<Opened | undefined> {
    const { client, services, routes } = this.#options.store;
    const existing = await this.#existing().catch(async (error: unknown) => {
      await this.#removeService(service);
      throw error;
    });
    const ownerService = existing && ownerServiceOf(existing.route);
    if (existing === undefined || ownerService?.uid === service.metadata.uid) return existing;
    // Its owner is another Service than ours: the current one of this name, or a deleted one. In
    // the second case the route is an orphan.
    const present = await client.get<StoredService>(services, this.name, this.#signal).catch(absent);
    if (present?.metadata.uid === ownerService?.uid) return existing;
    await client.delete(routes, this.name, { uid: existing.route.metadata.uid }, this.#signal);
    return undefined;
  }

  /** For a start aborted while its route was created: removes what it certainly created. */
  async #withdraw(service: StoredService): Promise<void> {
    const { client, routes } = this.#options.store;
    const limit = AbortSignal.timeout(ROLLBACK_MS);
    const existing = await this.#existing(limit).catch(() => undefined);
    if (existing === undefined || !existing.created) return;
    const { uid, resourceVersion } = existing.route.metadata;
    const gone = await client.delete(routes, this.name, { uid, resourceVersion }, limit).catch(() => false);
    if (gone) await this.#removeService(service);
  }

  /** Uses a separate timeout. A claimed Service is kept. */
  async #removeService(service: StoredService): Promise<void> {
    if (isClaimed(service)) return;
    const { client, services } = this.#options.store;
    const { name, uid, resourceVersion } = service.metadata;
    await client
      .delete(services, name, { uid, resourceVersion }, AbortSignal.timeout(ROLLBACK_MS))
      // The sweep removes it later.
      .catch(() => false);
  }
}

/**
 * Target of a stored Service. A start with another setting may have created it, and the route must
 * match.
 */
function upstreamOf({ spec }: StoredService): 'guest' | 'direct' {
  return spec?.ports?.[0]?.targetPort === GUEST_PREVIEW_PORT ? 'guest' : 'direct';
}

/**
 * The Service is gone, or its attempt changed: by another start, or by our own patch after a lost
 * response.
 */
function isLostRace(error: unknown): error is KubernetesError {
  return error instanceof KubernetesError && (error.status === 404 || error.status === 422);
}

function isInDoubt(error: unknown): error is KubernetesError {
  return error instanceof KubernetesError && error.inDoubt;
}

function isQuota(error: unknown): boolean {
  return isReason(error, 'Forbidden') && /exceeded quota/.test(error.message);
}

function taken(name: string): PortholeError {
  return new PortholeError(
    'preview_conflict',
    'An object that Porthole does not own has the name of this preview',
    { remedy: `delete the Service and the HTTPRoute ${name}.` },
  );
}

function contended(name: string, cause: unknown): PortholeError {
  return new PortholeError('preview_conflict', `Preview ${name} is being started and stopped concurrently`, {
    remedy: 'try again.',
    cause,
  });
}

function tooSlow(name: string, cause: unknown): KubernetesError {
  const facts = { status: 0, reason: 'NoAnswer', inDoubt: true, cause };
  return new KubernetesError(`start ${name}: the API server takes too long`, facts);
}
