import type { Clock } from '#core/ports/clock.ts';
import type { Preview } from '#core/ports/preview-plane.ts';
import { collection, type Collection, HTTP_ROUTES, SERVICES } from '../client/collection.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { type OwnerService, ownerServiceOf, readPreview } from './read-preview.ts';
import type { StoredRoute } from './stored-objects.ts';

/** Where previews are kept: two collections of one namespace, and the clock that their times are written by. */
export interface PreviewStore {
  readonly client: KubernetesClient;
  readonly services: Collection;
  readonly routes: Collection;
  /** Now, by the API server's clock. */
  readonly now: () => Date;
  /** An instant of our clock, by the API server's. */
  readonly toStore: (time: Date) => Date;
  /** An instant of the API server's clock, by ours. */
  readonly fromStore: (time: Date) => Date;
  /** The preview that a route is; undefined for what is not ours, cannot be read, or is already going. */
  readonly read: (route: StoredRoute) => Preview | undefined;
  /** What a preview that came from `read` stands on: spares a look at its route. */
  readonly ownerService: (preview: Pick<Preview, 'name'>) => OwnerService | undefined;
}

/** A start that has made or claimed a Service and has not put its route on it after so many milliseconds never will. */
export const START_OVER_MS = 120_000;

export interface PreviewStoreOptions {
  readonly client: KubernetesClient;
  readonly namespace: string;
  readonly zone: string;
  /** Where people reach a host, e.g. `https://` and the host. */
  readonly urlOf: (host: string) => string;
  readonly clock: Clock;
}

export function createPreviewStore(options: PreviewStoreOptions): PreviewStore {
  const { client, namespace, zone, urlOf, clock } = options;
  const move = (time: Date, by: number) => (by === 0 ? time : new Date(time.getTime() + by));
  const fromStore = (time: Date) => move(time, -client.time.ahead());
  const toStore = (time: Date) => move(time, client.time.ahead());
  const foundations = new WeakMap<Pick<Preview, 'name'>, OwnerService>();
  return {
    client,
    services: collection(SERVICES, namespace),
    routes: collection(HTTP_ROUTES, namespace),
    now: () => toStore(clock.now()),
    toStore,
    fromStore,
    read(route) {
      const preview = readPreview(route, { zone, urlOf, fromStore });
      const ownerService = ownerServiceOf(route);
      if (preview !== undefined && ownerService !== undefined) foundations.set(preview, ownerService);
      return preview;
    },
    ownerService: (preview) => foundations.get(preview),
  };
}
