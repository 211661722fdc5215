import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import { type ApiStore, type ApiStoreOptions, createApiStore } from './api-store.ts';
import { Refusal } from './refusal.ts';
import { KINDS } from './validate.ts';

/** A fault in place of a call's response. `committed`: after the call has taken effect. */
export type Fault =
  | { readonly kind: 'silence' | 'reset'; readonly committed: boolean }
  | {
      readonly kind: 'status';
      readonly status: 409 | 429 | 500 | 503;
      readonly retryAfterSeconds?: number;
      readonly committed: boolean;
    };

export interface ApiCall {
  /** `get`, `list`, `create`, `patch` or `delete`. */
  readonly verb: string;
  readonly plural: string;
  readonly name: string | undefined;
  readonly at: number;
  /** Status of the response; 0 without one. */
  status: number;
}

export interface FakeApiServerOptions extends ApiStoreOptions {
  readonly namespace: string;
  /** Called for each request, before any effect. */
  readonly fault?: (call: ApiCall) => Fault | undefined;
}

/**
 * An API server as strict as the real one in everything that previews need: uids, resource
 * versions, preconditions, JSON patches with tests, expiring pages, selectors, quotas, admission,
 * and a separate clock. It serves HTTP on loopback and can inject faults.
 */
export interface FakeApiServer {
  readonly store: ApiStore;
  readonly access: ClusterAccess;
  readonly calls: ApiCall[];
  fault: ((call: ApiCall) => Fault | undefined) | undefined;
  /** Delays each call before any effect. */
  pace: ((call: ApiCall) => Promise<void>) | undefined;
  close(): Promise<void>;
}

const TOKEN = 'a-service-account-token';
const PATH = /^\/(?:api|apis\/([a-z0-9.-]+))\/(v\d\w*)\/namespaces\/([a-z0-9-]+)\/([a-z]+)(?:\/([^/]+))?$/;

export async function startFakeApiServer(options: FakeApiServerOptions): Promise<FakeApiServer> {
  const store = createApiStore(options);
  const calls: ApiCall[] = [];
  let token = TOKEN;

  const answer = (
    res: ServerResponse,
    status: number,
    body: object,
    headers: Record<string, string> = {},
  ) => {
    res.writeHead(status, {
      'content-type': 'application/json',
      date: options.now().toUTCString(),
      ...headers,
    });
    res.end(JSON.stringify(body));
  };
  const fail = (req: IncomingMessage, res: ServerResponse, call: ApiCall, fault: Fault) => {
    if (fault.kind !== 'status') {
      if (fault.kind === 'reset') req.socket.resetAndDestroy();
      return;
    }
    const { status, retryAfterSeconds } = fault;
    call.status = status;
    const reason = {
      409: 'Conflict',
      429: 'TooManyRequests',
      500: 'InternalError',
      503: 'ServiceUnavailable',
    }[status];
    const refusal = new Refusal(status, reason, 'a fault');
    answer(
      res,
      status,
      refusal.body(retryAfterSeconds),
      retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) },
    );
  };

  const serve = async (req: IncomingMessage, res: ServerResponse) => {
    const url = new URL(req.url ?? '/', 'http://api');
    const matched = PATH.exec(url.pathname);
    const [, group, version, namespace, plural = '', name] = matched ?? [];
    const verb = {
      GET: name === undefined ? 'list' : 'get',
      POST: 'create',
      PATCH: 'patch',
      DELETE: 'delete',
    }[req.method ?? ''];
    const call: ApiCall = { verb: verb ?? '', plural, name, at: performance.now(), status: 0 };
    calls.push(call);
    let text = '';
    req.setEncoding('utf8');
    for await (const chunk of req) text += String(chunk);
    await server.pace?.(call);
    const fault = server.fault?.(call);
    if (fault !== undefined && !fault.committed) return fail(req, res, call, fault);
    try {
      if (req.headers.authorization !== `Bearer ${token}`) {
        throw new Refusal(401, 'Unauthorized', 'Unauthorized');
      }
      const known = KINDS[plural];
      const apiVersion = group === undefined ? version : `${group}/${version}`;
      if (known === undefined || known.apiVersion !== apiVersion || namespace !== options.namespace) {
        throw new Refusal(404, 'NotFound', 'the server could not find the requested resource');
      }
      const body = text === '' ? undefined : (JSON.parse(text) as unknown);
      const result = perform(store, verb, plural, name, url.searchParams, body, req);
      if (fault !== undefined) return fail(req, res, call, fault);
      call.status = verb === 'create' ? 201 : 200;
      return answer(res, call.status, result);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      call.status = error.code;
      return answer(res, error.code, error.body());
    }
  };

  const http = createServer((req, res) => {
    serve(req, res).catch((error: unknown) => {
      answer(res, 500, new Refusal(500, 'InternalError', String(error)).body());
    });
  });
  // Clients may disconnect at any time.
  http.on('clientError', (_error, socket) => socket.destroy());
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const server: FakeApiServer = {
    store,
    calls,
    fault: options.fault,
    pace: undefined,
    access: { server: `http://127.0.0.1:${port}`, token: async () => token },
    close: async () => {
      token = '';
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
  return server;
}

function perform(
  store: ApiStore,
  verb: string | undefined,
  plural: string,
  name: string | undefined,
  query: URLSearchParams,
  body: unknown,
  req: IncomingMessage,
): object {
  switch (verb) {
    case 'get':
      return store.get(plural, name ?? '');
    case 'create':
      return store.create(plural, body);
    case 'patch':
      return store.patch(plural, name ?? '', req.headers['content-type'] ?? '', body);
    case 'delete': {
      const { metadata } = store.delete(plural, name ?? '', body);
      return {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        details: { name, uid: metadata.uid },
      };
    }
    case 'list': {
      const { items, continue: next } = store.list(plural, query);
      const metadata = { resourceVersion: '1', ...(next !== undefined && { continue: next }) };
      const { apiVersion, kind } = KINDS[plural] ?? { apiVersion: '', kind: '' };
      if (!(req.headers.accept ?? '').includes('as=PartialObjectMetadataList')) {
        return { apiVersion, kind: `${kind}List`, metadata, items };
      }
      return {
        apiVersion: 'meta.k8s.io/v1',
        kind: 'PartialObjectMetadataList',
        metadata,
        items: items.map((object) => ({
          apiVersion: 'meta.k8s.io/v1',
          kind: 'PartialObjectMetadata',
          metadata: object.metadata,
        })),
      };
    }
    case undefined:
    default:
      throw new Refusal(405, 'MethodNotAllowed', `${verb} is not supported`);
  }
}
