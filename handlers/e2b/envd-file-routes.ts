/** `/files` of E2B's data plane: contents of files of one sandbox. */
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { isSameText } from '#base/same-text.ts';
import type { Caller } from '#core/callers.ts';
import { inTemporary } from '#core/files/temporary-files.ts';
import { uploadFiles } from '#core/files/upload-files.ts';
import { statWorkspaceFile } from '#core/files/list-workspace-files.ts';
import {
  changeWorkspaceFile,
  type FilePart,
  readWorkspaceFile,
  writeWorkspaceFile,
} from '#core/files/workspace-files.ts';
import { type FileMetadata, fileMetadata, MAX_METADATA_BYTES } from '#protocol/guest/files-protocol.ts';
import type { ErrorBody, HttpEvent, HttpResponse } from '../http/http-event.ts';
import type { UnreadBody } from '../http/limited-stream.ts';
import { type MultipartPart, multipartParts } from '../http/multipart.ts';
import { attachment } from '../http/response-headers.ts';
import { defineRoute, json, type Received, type Route } from '../route.ts';
import { GUEST_ERRORS } from '../sandboxes/sandbox-path.ts';
import type { Services } from '../services.ts';
import { e2bErrorShape } from './e2b-errors.ts';
import { checkUserName, envd, fromEnvd, RECEIVED_HEADER } from './envd-options.ts';
import { envdToken } from './envd-token.ts';
import { readyE2bSandbox } from './find-sandbox.ts';
import { reachFiles } from './reach-files.ts';
import { asUploadError, uploadedBody } from './uploaded-body.ts';

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
  const query = FileQuery.safeParse(Object.fromEntries(new URLSearchParams(event.rawQueryString)));
  const { path, username = '', signature, signature_expiration: expires } = query.data ?? {};
  if (signature === undefined || event.headers['x-access-token'] !== undefined) return fromEnvd(event);
  const id = event.headers[RECEIVED_HEADER] ?? '';
  const record = await services.records.sandboxes.get(id);
  const refused = () => new PortholeError('unauthorized', 'The signature of the URL is not valid');
  if (record === undefined) throw refused();
  const token = await envdToken(services, record);
  const operation = event.requestContext.http.method === 'POST' ? 'write' : 'read';
  const text = [path, operation, username, token, ...(expires === undefined ? [] : [expires])].join(':');
  const wanted = `v1_${createHash('sha256').update(text).digest('base64').replaceAll('=', '')}`;
  if (!isSameText(signature, wanted)) throw refused();
  if (expires !== undefined && Number(expires) * 1_000 < services.clock.now().getTime()) {
    throw new PortholeError('unauthorized', 'signature is already expired');
  }
  return fromEnvd({ headers: { ...event.headers, 'x-access-token': token } });
}

/** Who opens a signed URL has no SDK of E2B: the status is the code, as in E2B. */
function fileErrorShape(body: ErrorBody, status: number) {
  return status === 401
    ? { status, body: { code: status, message: body.error } }
    : e2bErrorShape(body, status);
}

const readRoute = defineRoute('e2bReadFile', 'GET', '/e2b/envd/files', {
  ...envd,
  summary: 'Read a file',
  receives: fromSignedUrl,
  errorShape: fileErrorShape,
  delegates: { scope: 'fs:read', enforces: 'paths' },
  query: FileQuery,
  streams: true,
  responses: {
    200: { description: 'Its bytes', contentType: 'application/octet-stream' },
    206: { description: 'Those that `Range` asks for', contentType: 'application/octet-stream' },
  },
  errors: [...GUEST_ERRORS, 'path_outside_workspace', 'workspace_read_not_found'],
  async handle({ params, query, headers, caller, signal }, services) {
    checkUserName(query.username);
    const { path, sandboxes } = reachFiles(services, { caller, sandboxId: params.id }, query.path);
    const { id } = await readyE2bSandbox(services, caller, params.id);
    const asked = rangeOf(headers);
    const whole = asked && (await statWorkspaceFile({ sandboxes }, id, path, signal)).size;
    const part = asked && partOf(asked, whole ?? null);
    if (part === 'none') {
      return json(
        416,
        { code: 416, message: `The file has ${whole} bytes` },
        { 'content-range': `bytes */${whole}` },
      );
    }
    const { content, size } = await readWorkspaceFile({ sandboxes }, id, path, signal, part);
    return {
      statusCode: part === undefined ? 200 : 206,
      headers: {
        'content-type': 'application/octet-stream',
        'content-disposition': attachment(posix.basename(path)),
        'x-content-type-options': 'nosniff',
        'accept-ranges': 'bytes',
        'content-length': String(size),
        ...(part !== undefined && { 'content-range': `bytes ${part.from}-${part.to - 1}/${whole}` }),
      },
      body: content,
    };
  },
});

/**
 * The bytes that a client asks for (RFC 9110 section 14.2): one range with a beginning. Others, and
 * one that depends on what the file was, are answered with the whole file, as the standard allows.
 */
function rangeOf({ range, 'if-range': condition }: HttpEvent['headers']) {
  const [, from, last] = /^bytes=(\d{1,15})-(\d{1,15})?$/.exec(range ?? '') ?? [];
  if (from === undefined || condition !== undefined) return undefined;
  return { from: Number(from), to: last === undefined ? Infinity : Number(last) + 1 };
}

/** Undefined: the whole. @param size null of what is no file, which the read then says */
function partOf({ from, to }: FilePart, size: number | null): FilePart | 'none' | undefined {
  if (size === null || to <= from) return undefined;
  return from >= size ? 'none' : { from, to: Math.min(to, size) };
}

const LIMITS = { fieldBytes: Infinity, files: 1_000, fileBytes: Infinity, totalBytes: Infinity };

const writeRoute = defineRoute('e2bWriteFiles', 'POST', '/e2b/envd/files', {
  ...envd,
  summary: 'Write files',
  description: 'A form with files, or the bytes of one as application/octet-stream.',
  receives: fromSignedUrl,
  errorShape: fileErrorShape,
  class: 'heavy',
  delegates: { scope: 'fs:write' },
  query: FileQuery,
  body: 'stream',
  streams: true,
  responses: {
    200: {
      description: 'What was written',
      schema: z.array(
        z.object({
          name: z.string(),
          path: z.string(),
          type: z.literal('file'),
          metadata: z.record(z.string(), z.string()).optional(),
        }),
      ),
    },
  },
  errors: [...GUEST_ERRORS, 'path_outside_workspace', 'payload_too_large', 'disk_full'],
  async handle(request, services): Promise<HttpResponse> {
    const { params, query, caller, signal } = request;
    checkUserName(query.username);
    const metadata = metadataOf(request.headers);
    const { id } = await readyE2bSandbox(services, caller, params.id);
    const at = { caller, sandboxId: id };
    const { headers, stream } = uploadedBody(request);
    const isForm = /^multipart\/form-data/i.test(headers['content-type'] ?? '');
    try {
      if (isForm) {
        const form = { headers, stream };
        return json(200, await writeForm(services, at, query.path, form, metadata, signal));
      }
      const { path, shown, sandboxes, isTemporary } = reachFiles(services, at, query.path);
      if (isTemporary) await writeWorkspaceFile({ sandboxes }, id, path, stream(), { signal, metadata });
      else await changeWorkspaceFile(services, { ...at, path }, stream(), signal, metadata);
      return json(200, [toWritten(shown(path), metadata)]);
    } catch (error) {
      throw asUploadError(error);
    }
  },
});

const METADATA_HEADER = 'x-metadata-';
/** The prefix of their names in the sandbox. */
const PREFIX_BYTES = 9;

/**
 * What a client wants to be kept with the files that it writes.
 * @throws PortholeError `invalid_request`
 */
function metadataOf(headers: HttpEvent['headers']): FileMetadata | undefined {
  const given = Object.entries(headers).flatMap(([name, value = '']) =>
    name.startsWith(METADATA_HEADER) ? [[name.slice(METADATA_HEADER.length), value] as const] : [],
  );
  if (given.length === 0) return undefined;
  const read = fileMetadata.safeParse(Object.fromEntries(given));
  const bytes = given.reduce((sum, [key, value]) => sum + PREFIX_BYTES + key.length + value.length, 0);
  if (read.success && bytes <= MAX_METADATA_BYTES) return read.data;
  throw new PortholeError(
    'invalid_request',
    `X-Metadata-*: names of up to 246 and values of printable ASCII, ${MAX_METADATA_BYTES} bytes in all, are kept`,
    { remedy: 'send less, or other characters.' },
  );
}

/** Files of a form: all or none. @param only of a single file; empty: each part has its path */
async function writeForm(
  services: Services,
  at: { readonly caller: Caller; readonly sandboxId: string },
  only: string,
  form: UnreadBody,
  metadata: FileMetadata | undefined,
  signal: AbortSignal | undefined,
) {
  // A form in a browser may have text instead of a file.
  const parts = multipartParts(form, { ...LIMITS, fields: only === '' ? 0 : 1 });
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
    const written = await uploadFiles({ sandboxes }, at.sandboxId, ROOT, files(), signal, metadata);
    for (const { path } of written) publish('file_written', path);
    return names.map((name) => toWritten(name, metadata));
  } catch (error) {
    throw isTemporary ? inTemporary(error) : error;
  } finally {
    // An unread rest must not block the connection. Its error is that of the upload.
    void parts.return().catch(() => undefined);
  }
}

const ROOT = '/workspace';

function toWritten(path: string, metadata: FileMetadata | undefined) {
  return { name: posix.basename(path), path, type: 'file', ...(metadata !== undefined && { metadata }) };
}

export const envdFileRoutes: readonly Route[] = [readRoute, writeRoute];
