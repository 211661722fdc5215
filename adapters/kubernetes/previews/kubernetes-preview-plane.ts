import { PortholeError } from '#base/errors.ts';
import type { Guests } from '#core/processes/guest.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import { onceOpen } from '#base/concurrency.ts';
import type { Preview, PreviewPlane } from '#core/previews/preview-plane.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import { type PreviewOptions, type PreviewZone, zoneNames } from '#core/previews/preview-limits.ts';
import { previewHost, previewName } from '#core/previews/preview-token.ts';
import { gate } from '../client/exchange.ts';
import type { PreviewAccess } from '#protocol/preview-access.ts';
import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { absent, isTransient, KubernetesError } from '../client/kubernetes-error.ts';
import { attachRoute } from './attach-route.ts';
import { closePreview } from './close-preview.ts';
import { createGuestUpstream, type VisitOptions } from './guest-upstream.ts';
import { keepPreview } from './keep-preview.ts';
import { nameRoute } from './named-route.ts';
import { isAmongFirst, listPreviews, collectPartial } from './list-routes.ts';
import { createPreviewStore, type StoredRoute } from './preview-store.ts';
import { awaitReadiness, isRouteAccepted } from './await-readiness.ts';
import type { GatewayProbe } from './gateway-probe.ts';

export interface KubernetesPlaneOptions {
  readonly client: KubernetesClient;
  readonly previewSettings: PreviewOptions;
  readonly clock: Clock;
  readonly sandboxes: Pick<Sandboxes, 'dial'>;
  /**
   * The guests: the upstream of previews, or what sees the use of direct ones.
   * @default - previews are direct, and their traffic does not keep them alive
   */
  readonly guests?: Guests | undefined;
  /**
   * Origins that may show previews in a frame: the console's.
   * @default none
   */
  readonly frameAncestors?: readonly string[] | undefined;
  /**
   * Where visitors of previews that are not open to everyone get tickets.
   * @default - all previews are open to everyone who has their URL
   */
  readonly visits?: VisitOptions | undefined;
  /** Probes whether the gateway serves; undefined where it is unreachable from this process. */
  readonly probe: GatewayProbe | undefined;
  /**
   * The gateway's listener for previews.
   * @default - every listener with a matching hostname
   */
  readonly listener?: string | undefined;
  /**
   * Kind of the object with that listener.
   * @default 'Gateway'
   */
  readonly gatewayKind?: PreviewZone['gateway']['kind'];
  /** @default 'headless' */
  readonly serviceKind?: 'headless' | 'clusterip' | undefined;
  /**
   * Public port of the gateway.
   * @default 443
   */
  readonly publicPort?: number | undefined;
  /**
   * Longest time for a start without readiness, in milliseconds.
   * @default 30,000
   */
  readonly startTimeoutMs?: number | undefined;
}

/** Loaded lazily, at the first start: it brings in all code that builds the objects. */
const makingPreviews = onceOpen(() => import('./open-preview.ts'));

/** Concurrent closes: a reaper that ends hundreds must not saturate the API server. */
const CLOSES = 8;

/**
 * Previews as Services and HTTPRoutes of one namespace. All state is in the API server: a function
 * can die between any two calls. Names, uids and resource versions resolve races.
 */
export function createKubernetesPlane(options: KubernetesPlaneOptions): PreviewPlane {
  const { client, previewSettings: config, clock, sandboxes, probe, listener, publicPort = 443 } = options;
  const { namespace } = config;
  const usual: Pick<PreviewZone, 'zone' | 'gateway'> = {
    zone: config.zoneSuffix,
    gateway: {
      kind: options.gatewayKind,
      name: config.gatewayName,
      namespace: config.gatewayNamespace,
      sectionName: listener,
    },
  };
  const zoneOf = (org: string | undefined) =>
    config.zones.find(({ orgs }) => org !== undefined && orgs.includes(org)) ?? usual;
  const gateways = [usual, ...config.zones].map(({ gateway }) => gateway);
  /** The gateway of a preview that exists: its owner's org may have got another zone since. */
  const gatewayOf = ({ url }: Preview) => {
    const { hostname } = new URL(url ?? '');
    const zone = hostname.slice(hostname.indexOf('.') + 1);
    return config.zones.find((each) => each.zone === zone)?.gateway ?? usual.gateway;
  };
  const urlOf = (host: string) => `https://${host}${publicPort === 443 ? '' : `:${publicPort}`}`;
  const store = createPreviewStore({
    client,
    namespace,
    zones: zoneNames(config),
    clock,
    urlOf,
  });
  const upstream = options.guests === undefined ? 'direct' : config.upstream;
  const guest =
    options.guests &&
    createGuestUpstream({
      guests: options.guests,
      frameAncestors: options.frameAncestors ?? [],
      visits: options.visits,
      reportContact: config.reportContact,
      direct: upstream === 'direct',
      now: () => clock.now(),
    });
  const checkEnforced = (access: PreviewAccess | undefined): void => {
    const isEnforced = guest !== undefined && upstream === 'guest' && options.visits !== undefined;
    if (access === undefined || access.level === 'link' || isEnforced) return;
    throw new PortholeError(
      'preview_not_enabled',
      `Nothing enforces the access level ${access.level} here, so the preview would be open to everyone who has its URL`,
      { remedy: 'ask your administrator to set PORTHOLE_PUBLIC_URL and Sandbox__Preview__Upstream=guest.' },
    );
  };
  const oneOfFew = gate(CLOSES);

  const route = (name: string, signal?: AbortSignal): Promise<StoredRoute | undefined> =>
    client.get<StoredRoute>(store.routes, name, signal).catch(absent);
  const find = async (token: string, signal?: AbortSignal): Promise<Preview | undefined> => {
    const found = await route(previewName(token), signal);
    const preview = found && store.read(found);
    return preview?.token === token ? preview : undefined;
  };

  const readOpened = (stored: StoredRoute): Preview => {
    const preview = store.read(stored);
    if (preview === undefined) throw new Error('the API server changed the preview that was made');
    return preview;
  };

  return {
    hasUrls: true,
    needsOpenAddress: upstream === 'direct',
    seesTraffic: false,
    urlOf,

    open: (spec, signal) =>
      inPorthole(async () => {
        const { zone, gateway } = zoneOf(spec.org);
        const url = urlOf(previewHost(spec.token, zone));
        checkEnforced(spec.access);
        const [{ openPreview }] = await Promise.all([makingPreviews(), guest?.open(spec, url, signal)]);
        const opened = await openPreview(
          {
            store,
            namespace,
            zone,
            gateway,
            publicPort,
            upstream,
            serviceKind: options.serviceKind ?? 'headless',
            maxTotal: config.maxTotal,
            timeoutMs: options.startTimeoutMs,
          },
          spec,
          signal,
        );
        const preview = readOpened(opened.route);
        if (preview.isDetached !== true) return { preview, created: opened.created };
        const attached = await attachRoute(store, preview, gatewayOf(preview), signal);
        if (attached === undefined) throw endedMeanwhile(preview.name);
        return { preview: readOpened(attached), created: false };
      }),

    awaitReady: (preview, signal) =>
      inPorthole(() =>
        awaitReadiness(
          {
            probe,
            sandboxes,
            timeoutMs: config.readyTimeoutSeconds * 1_000,
            isAccepted: (found) => gateways.some((gateway) => isRouteAccepted(found, gateway)),
            route: async ({ name, uid }, limit) => {
              const found = await route(name, limit);
              return found?.metadata.uid === uid ? found : undefined;
            },
          },
          preview,
          signal,
        ),
      ),

    find: (token, signal) => inPorthole(() => find(token, signal)),

    findNamed: (name, signal) =>
      inPorthole(async () => {
        const found = await route(name, signal);
        return found && store.read(found);
      }),

    setAccess: (preview, access, signal) =>
      inPorthole(async () => {
        const { url, expiresAt, maxUntil } = preview;
        if (url === null || expiresAt === undefined || maxUntil === undefined) return;
        checkEnforced(access);
        // The guest first: a name that it does not serve must not lead to it.
        await guest?.limit({ ...preview, maxUntil, access }, url, signal);
        await nameRoute(store, preview, { access, url }, signal);
      }),

    // Without a page that starts it, visitors would gain nothing.
    setAttached:
      options.visits &&
      ((preview, isAttached, signal) =>
        inPorthole(async () => {
          await attachRoute(store, preview, isAttached ? gatewayOf(preview) : undefined, signal);
        })),

    touch: (token, runId, expiresAt, signal) =>
      inPorthole(async () => {
        const keepalive = { name: previewName(token), runId, expiresAt };
        const kept = await keepPreview(store, keepalive, config.maxLifetimeHours, signal);
        const preview = kept && store.read(kept);
        return preview?.token === token ? preview : undefined;
      }),

    close: (preview, precondition, signal) =>
      inPorthole(() =>
        oneOfFew(async () => {
          const isGone = await closePreview(store, preview, precondition, signal);
          if (isGone) await guest?.close(preview);
          return isGone;
        }),
      ),

    lastUsed: async (preview, signal) => guest?.lastUsed(preview, signal),

    async *list(filter = {}, signal) {
      try {
        yield* listPreviews(store, filter, config.idleTimeoutMinutes, signal);
      } catch (error) {
        throw asPortholeError(error);
      }
    },

    isAmongFirst: (preview, places, of = 'runId', signal) =>
      inPorthole(() => isAmongFirst(store, preview, places, of, signal)),

    examine:
      probe &&
      (async (signal) => {
        const proxies = await probe.proxies();
        const asked = await Promise.all(
          proxies.map((proxy) => probe.ask(proxy, `porthole-doctor.${usual.zone}`, signal)),
        );
        const isBroken = asked.some((answerer) => answerer === 'unreachable' || answerer === 'untrusted');
        return {
          addresses: proxies.length,
          problems: proxies.length === 0 || isBroken ? probe.problems() : [],
          certificateEnds: probe.certificateEnds(),
        };
      }),

    sweep: (now, signal) => inPorthole(() => collectPartial(store, now, signal)),
  };
}

function endedMeanwhile(name: string): PortholeError {
  return new PortholeError('preview_conflict', `Preview ${name} ended while it was started`, {
    remedy: 'try again.',
  });
}

async function inPorthole<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw asPortholeError(error);
  }
}

/** The API server's message is only in the cause, for the log: it may contain hosts. */
function asPortholeError(error: unknown): unknown {
  if (!(error instanceof KubernetesError)) return error;
  const { status } = error;
  if (status === 409 || isTransient(error)) {
    return new PortholeError('service_unavailable', 'The cluster does not answer', {
      remedy: 'try again.',
      cause: error,
    });
  }
  return new PortholeError(
    'internal_error',
    `The cluster refuses what Porthole asks of it (${status} ${error.reason})`,
    { remedy: 'see the log for its reason.', cause: error },
  );
}
