/** E2B's data plane, which its clients call "envd": processes and files of one sandbox. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { posix } from 'node:path';
import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { uploadFiles } from '#core/files/upload-files.ts';
import { changeWorkspaceFile, readWorkspaceFile, writeWorkspaceFile } from '#core/files/workspace-files.ts';
import type { Caller } from '#core/callers.ts';
import { anySignal } from '#base/concurrency.ts';
import { MAX_STREAM_MS } from '../http/event-stream-response.ts';
import type { ErrorBody, HttpEvent, HttpResponse } from '../http/http-event.ts';
import { limitedStream, type UnreadBody } from '../http/limited-stream.ts';
import { type MultipartPart, multipartParts } from '../http/multipart.ts';
import { MAX_JSON_BYTES } from '../http/read-input.ts';
import { attachment } from '../http/response-headers.ts';
import { defineRoute, json, type Received, type Route, type RouteRequest } from '../route.ts';
import { GUEST_ERRORS } from '../sandboxes/sandbox-path.ts';
import type { Services } from '../services.ts';
import { connectErrorShape, messageStream, onlyMessage } from './connect-protocol.ts';
import { e2bErrorShape } from './e2b-errors.ts';
import { envdToken } from './envd-token.ts';
import { FILESYSTEM_CALLS, FILESYSTEM_STREAMS } from './filesystem-service.ts';
import { findE2bSandbox, readyE2bSandbox } from './find-sandbox.ts';
import { type EnvdCall, PROCESS_CALLS, PROCESS_STREAMS } from './process-service.ts';
import { reachFiles } from './reach-files.ts';
import { asUploadError, uploadedBody } from './uploaded-body.ts';

const SANDBOX_HEADER = 'E2b-Sandbox-Id';
const RECEIVED_HEADER = 'e2b-sandbox-id';

/** The sandbox and the credential are in headers of E2B. */
function fromEnvd(event: Pick<HttpEvent, 'headers' | 'pathParameters'>): Received {
  const { [RECEIVED_HEADER]: id = '', 'x-access-token': token, ...headers } = event.headers;
  checkUser(headers['authorization']);
  return {
    headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    pathParameters: { ...event.pathParameters, id },
  };
}

/** `Authorization: Basic` chooses the user of a command. @throws PortholeError `forbidden` */
function checkUser(authorization: string | undefined): void {
  const encoded = /^basic +(\S+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return;
  const [user = ''] = Buffer.from(encoded, 'base64').toString().split(':');
  checkUserName(user);
}

function checkUserName(user: string | undefined): void {
  if (user === undefined || user === '' || user === 'user') return;
  throw new PortholeError('forbidden', `user: ${JSON.stringify(user.slice(0, 40))} does not exist here`, {
    remedy: 'leave it out: commands run as the user of the sandbox, without root.',
  });
}

const EnvdPath = z.object({ id: z.string().max(400) });
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
      const body = await bodyOf(request);
      const unary = Object.hasOwn(calls, method) ? calls[method] : undefined;
      const stream = Object.hasOwn(streams, method) ? streams[method] : undefined;
      const run = async <T>(start: () => Promise<T>): Promise<T> => {
        await readyE2bSandbox(services, caller, params.id);
        return valid(start);
      };
      if (unary !== undefined) return json(200, await run(() => unary(services, call, parseJson(body))));
      if (stream === undefined) {
        throw new PortholeError('not_streamable', `${name}/${method} is not supported`);
      }
      const over = anySignal(AbortSignal.timeout(MAX_STREAM_MS), services.stopping, signal);
      const following = { ...call, signal: over };
      // The status of a stream is 200: its clients read errors in the last envelope only.
      const begin = () => run(() => stream(services, following, onlyMessage(body)));
      return messageStream(begun(begin), over);
    },
  });
}

async function* begun(begin: () => Promise<AsyncIterable<object>>): AsyncGenerator<object, void, undefined> {
  yield* await begin();
}

/** Names the fields that a schema refuses. @throws PortholeError `invalid_request` */
async function valid<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    const fields = error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
    throw new PortholeError('invalid_request', fields.slice(0, 10).join('; '), { cause: error });
  }
}

async function bodyOf({ stream }: Pick<RouteRequest<unknown, unknown, unknown>, 'stream'>): Promise<Buffer> {
  const tooLarge = () =>
    new PortholeError('payload_too_large', `The message exceeds ${MAX_JSON_BYTES} bytes`, {
      remedy: 'upload it as a file.',
    });
  const cutOff = () => new PortholeError('invalid_request', 'The request was cut off');
  const pieces: Buffer[] = [];
  const body = limitedStream(stream(), { bytes: MAX_JSON_BYTES, tooLarge, cutOff });
  for await (const piece of body as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return {};
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new PortholeError('invalid_request', 'The body is not JSON');
  }
}

const envd = {
  tag: 'E2B',
  agents: true,
  receives: fromEnvd,
  idHeader: SANDBOX_HEADER,
  errorShape: e2bErrorShape,
  params: EnvdPath,
  errors: GUEST_ERRORS,
} as const;

/** E2B's proxy answers this for a sandbox that does not run. */
const NOT_RUNNING = 502;

/** Clients know a sandbox that does not run by these words, and then say that it was killed. */
function notRunning(sandboxId: string, why: string) {
  return { sandboxId, message: `The sandbox was not found: ${why}`, code: NOT_RUNNING };
}

/** Also of one that does not exist, or is of another owner. */
function healthErrorShape(body: ErrorBody, status: number) {
  return status === 404
    ? { status: NOT_RUNNING, body: notRunning('', body.error) }
    : e2bErrorShape(body, status);
}

const healthRoute = defineRoute('e2bHealth', 'GET', '/e2b/envd/health', {
  ...envd,
  summary: 'Whether the sandbox runs',
  errorShape: healthErrorShape,
  delegates: { scope: 'fs:read', enforces: 'paths' },
  responses: { 204: { description: 'It runs' }, [NOT_RUNNING]: { description: 'It does not' } },
  async handle({ params, caller, signal }, services) {
    const { id } = await findE2bSandbox(services, caller, params.id);
    const { state } = await services.sandboxes.inspect(id, signal);
    if (state === 'running') return { statusCode: 204, headers: {} };
    return json(NOT_RUNNING, notRunning(id, `it is ${state}`));
  },
});

const FileQuery = z.object({
  path: z.string().max(16_384).default(''),
  username: z.string().max(64).optional(),
  signature: z.string().max(200).optional(),
  signature_expiration: z
    .string()
    .regex(/^\d{1,12}$/, 'must be seconds since the epoch')
    .optional(),
});

/**
 * A URL of a file that a client has signed with the token of its sandbox: for all who have the URL,
 * and this one file.
 */
async function fromSignedUrl(event: HttpEvent, services: Services): Promise<Received> {
  const query = new URLSearchParams(event.rawQueryString);
  const signature = query.get('signature');
  if (signature === null || event.headers['x-access-token'] !== undefined) return fromEnvd(event);
  const id = event.headers[RECEIVED_HEADER] ?? '';
  const record = await services.records.sandboxes.get(id);
  const refused = () =>
    new PortholeError('unauthorized', 'The signature of the URL is not valid, or has expired');
  if (record === undefined) throw refused();
  const token = await envdToken(services, record);
  const expires = query.get('signature_expiration');
  const operation = event.requestContext.http.method === 'GET' ? 'read' : 'write';
  const parts = [query.get('path') ?? '', operation, query.get('username') ?? '', token];
  const text = [...parts, ...(expires === null ? [] : [expires])].join(':');
  const wanted = `v1_${createHash('sha256').update(text).digest('base64').replaceAll('=', '')}`;
  const [ours, given] = [Buffer.from(wanted), Buffer.from(signature)];
  const isOurs = ours.length === given.length && timingSafeEqual(ours, given);
  const isOver = expires !== null && Number(expires) * 1_000 < services.clock.now().getTime();
  if (!isOurs || isOver) throw refused();
  return fromEnvd({ headers: { ...event.headers, 'x-access-token': token } });
}

const readRoute = defineRoute('e2bReadFile', 'GET', '/e2b/envd/files', {
  ...envd,
  summary: 'Read a file',
  receives: fromSignedUrl,
  delegates: { scope: 'fs:read', enforces: 'paths' },
  query: FileQuery,
  streams: true,
  responses: { 200: { description: 'Its bytes', contentType: 'application/octet-stream' } },
  errors: [...GUEST_ERRORS, 'path_outside_workspace', 'workspace_read_not_found'],
  async handle({ params, query, caller, signal }, services) {
    checkUserName(query.username);
    const { path, sandboxes } = reachFiles(services, { caller, sandboxId: params.id }, query.path);
    const { id } = await readyE2bSandbox(services, caller, params.id);
    const { content, size } = await readWorkspaceFile({ sandboxes }, id, path, signal);
    return {
      statusCode: 200,
      headers: {
        'content-type': 'application/octet-stream',
        'content-disposition': attachment(posix.basename(path)),
        'x-content-type-options': 'nosniff',
        'content-length': String(size),
      },
      body: content,
    };
  },
});

const LIMITS = { fields: 0, fieldBytes: 0, files: 1_000, fileBytes: Infinity, totalBytes: Infinity };

const writeRoute = defineRoute('e2bWriteFiles', 'POST', '/e2b/envd/files', {
  ...envd,
  summary: 'Write files',
  description: 'A form with files, or the bytes of one as application/octet-stream.',
  receives: fromSignedUrl,
  class: 'heavy',
  delegates: { scope: 'fs:write' },
  query: FileQuery,
  body: 'stream',
  streams: true,
  responses: {
    200: {
      description: 'What was written',
      schema: z.array(z.object({ name: z.string(), path: z.string(), type: z.literal('file') })),
    },
  },
  errors: [...GUEST_ERRORS, 'path_outside_workspace', 'payload_too_large', 'disk_full'],
  async handle(request, services): Promise<HttpResponse> {
    const { params, query, caller, signal } = request;
    checkUserName(query.username);
    checkNoMetadata(request.headers);
    const { id } = await readyE2bSandbox(services, caller, params.id);
    const at = { caller, sandboxId: id };
    const { headers, stream } = uploadedBody(request);
    const isForm = /^multipart\/form-data/i.test(headers['content-type'] ?? '');
    try {
      if (isForm) return json(200, await writeForm(services, at, query.path, { headers, stream }, signal));
      const { path, shown, sandboxes, isTemporary } = reachFiles(services, at, query.path);
      if (isTemporary) await writeWorkspaceFile({ sandboxes }, id, path, stream(), { signal });
      else await changeWorkspaceFile(services, { ...at, path }, stream(), signal);
      return json(200, [toWritten(shown(path))]);
    } catch (error) {
      throw asUploadError(error);
    }
  },
});

/** Extended attributes that clients set on files. @throws PortholeError `invalid_request` */
function checkNoMetadata(headers: HttpEvent['headers']): void {
  const found = Object.keys(headers).find((name) => name.startsWith('x-metadata-'));
  if (found === undefined) return;
  throw new PortholeError('invalid_request', `${found}: metadata of files is not supported`, {
    remedy: 'leave it out.',
  });
}

/** Files of a form: all or none. @param only of a single file; empty: each part has its path */
async function writeForm(
  services: Services,
  at: { readonly caller: Caller; readonly sandboxId: string },
  only: string,
  form: UnreadBody,
  signal: AbortSignal | undefined,
) {
  const parts = multipartParts(form, LIMITS);
  const first = await parts.next();
  if (first.done === true) throw new PortholeError('invalid_request', 'There is no file in the form');
  const reachPart = ({ filename }: MultipartPart) =>
    reachFiles(services, at, only === '' ? (filename ?? '') : only);
  const { sandboxes, isTemporary, publish } = reachPart(first.value);
  const names: string[] = [];
  async function* files() {
    for (
      let next: IteratorResult<MultipartPart, void> = first;
      next.done !== true;
      next = await parts.next()
    ) {
      const { path, shown, isTemporary: isThere } = reachPart(next.value);
      if (isThere !== isTemporary) {
        throw new PortholeError('invalid_request', 'The form has files of /tmp and of the workspace', {
          remedy: 'send two forms.',
        });
      }
      names.push(shown(path));
      yield { filename: posix.relative(ROOT, path), stream: next.value.stream };
    }
  }
  try {
    const written = await uploadFiles({ sandboxes }, at.sandboxId, ROOT, files(), signal);
    for (const { path } of written) publish('file_written', path);
    return names.map(toWritten);
  } finally {
    // An unread rest must not block the connection. Its error is that of the upload.
    void parts.return().catch(() => undefined);
  }
}

const ROOT = '/workspace';

function toWritten(path: string) {
  return { name: posix.basename(path), path, type: 'file' };
}

export const envdRoutes: readonly Route[] = [
  healthRoute,
  readRoute,
  writeRoute,
  rpcRoute('e2bProcess', { name: 'process.Process', calls: PROCESS_CALLS, streams: PROCESS_STREAMS }, 'exec'),
  rpcRoute(
    'e2bFilesystem',
    { name: 'filesystem.Filesystem', calls: FILESYSTEM_CALLS, streams: FILESYSTEM_STREAMS },
    'fs:write',
  ),
];
