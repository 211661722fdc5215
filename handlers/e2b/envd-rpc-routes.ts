/** Calls of E2B's data plane by the Connect protocol: processes and files of one sandbox. */
import { z } from 'zod';
import { anySignal } from '#base/concurrency.ts';
import { PortholeError } from '#base/errors.ts';
import { MAX_STREAM_MS } from '../http/event-stream-response.ts';
import type { HttpEvent } from '../http/http-event.ts';
import type { UnreadBody } from '../http/limited-stream.ts';
import {
  checkNotCompressed,
  MAX_JSON_BYTES,
  readBytes,
  readJson,
  unsupportedType,
  utf8,
} from '../http/read-input.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { GUEST_ERRORS } from '../sandboxes/sandbox-path.ts';
import type { Services } from '../services.ts';
import { connectErrorShape, messageStream, onlyMessage } from './connect-protocol.ts';
import { EnvdPath, fromEnvd, SANDBOX_HEADER } from './envd-options.ts';
import { FILESYSTEM_CALLS, FILESYSTEM_STREAMS } from './filesystem-service.ts';
import { readyE2bSandbox } from './find-sandbox.ts';
import { type EnvdCall, PROCESS_CALLS, PROCESS_STREAMS } from './process-service.ts';

const RpcPath = EnvdPath.extend({ method: z.string().regex(/^[A-Za-z]{1,64}$/) });

type UnaryCalls = Readonly<
  Record<string, (services: Services, call: EnvdCall, message: unknown) => Promise<object>>
>;
type StreamCalls = Readonly<
  Record<string, (services: Services, call: EnvdCall, message: unknown) => Promise<AsyncIterable<object>>>
>;

interface RpcService {
  readonly name: string;
  readonly calls: UnaryCalls;
  readonly streams: StreamCalls;
}

/** Largest time-out that a client may announce, in ms: the protocol has at most ten digits. */
const TIMEOUT = /^\d{1,10}$/;
const MAX_TIMEOUT_MS = 2_147_483_647;

function timeoutOf({ 'connect-timeout-ms': text }: HttpEvent['headers']): number | undefined {
  if (text === undefined || !TIMEOUT.test(text) || Number(text) === 0) return undefined;
  return Math.min(Number(text), MAX_TIMEOUT_MS);
}

function rpcRoute(id: string, { name, calls, streams }: RpcService, scope: 'exec' | 'fs:write'): Route {
  return defineRoute(id, 'POST', `/e2b/envd/${name}/{method}`, {
    tag: 'E2B',
    summary: `${name} of E2B`,
    description: `JSON of the Connect protocol. Calls: ${[...Object.keys(calls), ...Object.keys(streams)].join(', ')}.`,
    class: 'stream',
    agents: true,
    delegates: { scope },
    receives: fromEnvd,
    idHeader: SANDBOX_HEADER,
    errorShape: connectErrorShape,
    params: RpcPath,
    body: 'stream',
    streams: true,
    responses: {
      200: { description: 'The answer', contentType: ['application/json', 'application/connect+json'] },
    },
    errors: GUEST_ERRORS,
    async handle(request, services) {
      const { method } = request.params;
      const { caller, headers, params, signal } = request;
      const call = { caller, sandboxId: params.id, signal, timeoutMs: timeoutOf(headers) };
      const body = await readMessage(request);
      const unary = Object.hasOwn(calls, method) ? calls[method] : undefined;
      const stream = Object.hasOwn(streams, method) ? streams[method] : undefined;
      const ready = () => readyE2bSandbox(services, caller, params.id);
      if (unary !== undefined) {
        await ready();
        return json(200, await unary(services, call, readJson(utf8(body) || '{}')));
      }
      if (stream === undefined) {
        throw new PortholeError('not_implemented', `${name}/${method} is not supported`);
      }
      const over = anySignal(AbortSignal.timeout(MAX_STREAM_MS), services.stopping, signal);
      const following = { ...call, signal: over };
      // The status of a stream is 200: its clients read errors in the last envelope only.
      async function* begun(): AsyncGenerator<object, void, undefined> {
        const message = readJson(utf8(onlyMessage(body)));
        await ready();
        yield* (await stream?.(services, following, message)) ?? [];
      }
      return messageStream(begun(), over, () => isDestroyed(services, params.id));
    },
  });
}

/** The message of a call, or the envelope that it is in. @throws PortholeError */
async function readMessage({ headers, stream }: UnreadBody): Promise<Buffer> {
  const type = headers['content-type'];
  if (type !== undefined && !JSON_TYPE.test(type)) {
    throw unsupportedType('JSON', type, 'let the client send JSON, as the SDKs of E2B do.');
  }
  checkNotCompressed(headers);
  return readBytes(stream(), MAX_JSON_BYTES);
}

const JSON_TYPE = /^application\/(?:connect\+)?json\b/i;

async function isDestroyed({ records }: Services, id: string): Promise<boolean> {
  const { desired = 'destroyed' } = (await records.sandboxes.get(id)) ?? {};
  return desired === 'destroyed';
}

export const envdRpcRoutes: readonly Route[] = [
  rpcRoute('e2bProcess', { name: 'process.Process', calls: PROCESS_CALLS, streams: PROCESS_STREAMS }, 'exec'),
  rpcRoute(
    'e2bFilesystem',
    { name: 'filesystem.Filesystem', calls: FILESYSTEM_CALLS, streams: FILESYSTEM_STREAMS },
    'fs:write',
  ),
];
