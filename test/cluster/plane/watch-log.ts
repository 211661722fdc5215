import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import {
  collection,
  type Collection,
  HTTP_ROUTES,
  SERVICES,
  type KubernetesObject,
} from '#adapters/kubernetes/client/kubernetes-object.ts';
import type { KubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';

export interface WatchedEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly plural: 'services' | 'httproutes';
  /** Revision of the write or of the deletion: the store counts both kinds together. */
  readonly revision: number;
  readonly name: string;
  readonly uid: string;
  /** Uid of the Service that owns a route. */
  readonly standsOn: string | undefined;
}

/**
 * The API server's events for the Services and routes of a namespace, from the beginning of the
 * watch.
 */
export interface WatchLog {
  /** All events up to this call, in order. */
  upToNow(): Promise<readonly WatchedEvent[]>;
  close(): void;
}

interface Line {
  readonly type: WatchedEvent['type'] | 'BOOKMARK' | 'ERROR';
  readonly object: KubernetesObject;
}

/** A name that Porthole never gives. */
const END = 'end-of-log';
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const ENDS = {
  services: { apiVersion: 'v1', kind: 'Service', spec: { clusterIP: 'None' } },
  httproutes: { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', spec: {} },
};

/** Raw watches of an empty namespace. */
export async function watchLog(
  access: ClusterAccess,
  client: KubernetesClient,
  namespace: string,
): Promise<WatchLog> {
  const events: WatchedEvent[] = [];
  const waiting = new Map<string, () => void>();
  const kinds = [
    { plural: 'services', from: collection(SERVICES, namespace) },
    { plural: 'httproutes', from: collection(HTTP_ROUTES, namespace) },
  ] as const;
  const watches = await Promise.all(
    kinds.map(({ plural, from }) =>
      watch(access, from, ({ type, object: { metadata } }) => {
        if (type === 'BOOKMARK') return;
        if (type === 'ERROR') throw new Error(`the watch of ${plural} has broken`);
        if (metadata.name.startsWith(END)) {
          waiting.get(`${plural} ${metadata.name}`)?.();
          return;
        }
        const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'Service');
        const { name, uid, resourceVersion } = metadata;
        events.push({ type, plural, revision: Number(resourceVersion), name, uid, standsOn: owner?.uid });
      }),
    ),
  );
  let ends = 0;
  return {
    async upToNow() {
      const name = `${END}-${(ends += 1)}`;
      await Promise.all(
        kinds.map(async ({ plural, from }) => {
          const seen = new Promise<void>((resolve) => waiting.set(`${plural} ${name}`, resolve));
          await client.create(from, { ...ENDS[plural], metadata: { name } });
          await seen;
          await client.delete(from, name);
        }),
      );
      return events.toSorted((one, other) => one.revision - other.revision);
    },
    close: () => {
      for (const each of watches) each.destroy();
    },
  };
}

async function watch(
  { server, ca, cert, key, serverName, token }: ClusterAccess,
  { path }: Collection,
  onLine: (line: Line) => void,
): Promise<IncomingMessage> {
  const outgoing = request(`${server}${path}?watch=true`, {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
    headers: {
      accept: METADATA_ONLY,
      ...(token !== undefined && { authorization: `Bearer ${await token(false)}` }),
    },
  });
  outgoing.end();
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  if (incoming.statusCode !== 200) throw new Error(`no watch: ${incoming.statusCode}`);
  createInterface({ input: incoming }).on('line', (line) => onLine(JSON.parse(line) as Line));
  return incoming;
}

/** The routes that ever existed without the Service that owns them, however briefly. */
export function routesWithoutService(events: readonly WatchedEvent[]): string[] {
  const services = new Set<string>();
  /** The uid of each route's owner, by the route's uid. */
  const routes = new Map<string, string>();
  const bare = new Set<string>();
  for (const { type, plural, name, uid, standsOn = '' } of events) {
    if (plural === 'httproutes') {
      if (type === 'DELETED') routes.delete(uid);
      else if (!services.has(standsOn)) bare.add(name);
      else routes.set(uid, standsOn);
    } else if (type !== 'DELETED') services.add(uid);
    else {
      services.delete(uid);
      if ([...routes.values()].includes(uid)) bare.add(name);
    }
  }
  return [...bare];
}
