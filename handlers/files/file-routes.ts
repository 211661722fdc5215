import { posix } from 'node:path';
import { z } from 'zod';
import { performerOf } from '#core/callers.ts';
import { delegatedGuests } from '#core/delegations/delegate-sandbox.ts';
import { PortholeError } from '#base/errors.ts';
import { deleteWorkspaceFile, moveWorkspaceFile } from '#core/files/guest-files.ts';
import { changeWorkspaceFile, readWorkspaceFile } from '#core/files/workspace-files.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import { withUpload } from '../http/limited-stream.ts';
import { queryFlag } from '../http/read-input.ts';
import { attachment } from '../http/response-headers.ts';
import { checkSessionHeader } from '../processes/exec-session-routes.ts';
import { defineRoute, json } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';
import { reading, WRITE_ERRORS, writing } from './folder-routes.ts';

const FilePath = SandboxPath.extend({
  path: z
    .string()
    .describe('Absolute path without its leading slash, each segment percent-encoded, e.g. `workspace/a.txt`')
    // 4,096 bytes, of which each may take three characters.
    .meta({ minLength: 1, maxLength: 12_288, pattern: '^[^?#]+$' }),
});

/**
 * The absolute path in the URL's tail. Decodes once, fully, then validates.
 * @throws PortholeError `invalid_request`
 */
function absolutePath(encoded: string): string {
  if (encoded === '') throw new PortholeError('invalid_request', 'file path must not be empty');
  try {
    return `/${decodeURIComponent(encoded)}`;
  } catch {
    throw new PortholeError(
      'invalid_request',
      `file path is not valid percent-encoded UTF-8: ${JSON.stringify(encoded.slice(0, 100))}`,
    );
  }
}

const deleteFileRoute = defineRoute('deleteFile', 'DELETE', '/v1/sandbox/{id}/file/{path}', {
  ...writing,
  summary: 'Delete a file or a folder',
  description:
    'Deletes a symbolic link itself, not its target. A folder that is not empty needs `recursive=true`.',
  params: FilePath,
  query: z.object({ recursive: queryFlag() }),
  responses: {
    200: {
      description: 'Deleted',
      schema: z.object({ ok: z.literal(true) }).meta({ id: 'DeleteFileResponse' }),
    },
  },
  async handle({ params, query, caller, signal }, services) {
    const path = resolveWorkspacePath(absolutePath(params.path), 'path');
    const sandboxes = delegatedGuests(services.sandboxes, caller, path);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    await deleteWorkspaceFile(sandboxes, sandbox.id, path, query.recursive, signal);
    services.publisher.publish(sandbox.id, 'file_deleted', { path, ...performerOf(caller) });
    return json(200, { ok: true });
  },
});

const path = z.string().min(1).max(16_384);

const moveFileRoute = defineRoute('moveFile', 'POST', '/v1/sandbox/{id}/move', {
  ...writing,
  summary: 'Move or rename a file or a folder',
  description: 'Creates missing folders. Moves a symbolic link itself.',
  body: z.strictObject({
    from: path.describe('Relative to /workspace, or absolute below it').meta({ example: 'draft.md' }),
    to: path.describe('Its new path').meta({ example: 'docs/final.md' }),
    overwrite: z.boolean().default(false).describe('Whether a file at `to` is replaced; a folder never is'),
  }),
  responses: {
    200: {
      description: 'Moved',
      schema: z.object({ path: z.string().describe('Its new absolute path') }).meta({ id: 'MoveResponse' }),
    },
  },
  errors: [...writing.errors, 'file_exists'],
  async handle({ params, body, caller, signal }, services) {
    const [from, to] = [resolveWorkspacePath(body.from, 'path'), resolveWorkspacePath(body.to, 'path')];
    // Both are checked as written; the guest checks link targets.
    delegatedGuests(services.sandboxes, caller, from);
    const sandboxes = delegatedGuests(services.sandboxes, caller, to);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    await moveWorkspaceFile(sandboxes, sandbox.id, { from, to, overwrite: body.overwrite }, signal);
    services.publisher.publish(sandbox.id, 'file_deleted', { path: from, ...performerOf(caller) });
    services.publisher.publish(sandbox.id, 'file_written', { path: to, ...performerOf(caller) });
    return json(200, { path: to });
  },
});

const readFileRoute = defineRoute('readFile', 'GET', '/v1/sandbox/{id}/file/{path}', {
  ...reading,
  summary: 'Read a file',
  bridge: true,
  session: true,
  params: FilePath,
  responses: { 200: { description: 'The bytes of the file', contentType: 'application/octet-stream' } },
  streams: true,
  errors: [...GUEST_ERRORS, 'path_outside_workspace', 'workspace_read_not_found'],
  async handle({ params, headers, caller, signal }, services) {
    checkSessionHeader(headers);
    const path = absolutePath(params.path);
    const sandboxes = delegatedGuests(services.sandboxes, caller, path);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const { content, size } = await readWorkspaceFile({ sandboxes }, sandbox.id, path, signal);
    return {
      statusCode: 200,
      headers: {
        'content-type': 'application/octet-stream',
        // A browser saves the file: no content of a sandbox renders on this origin.
        'content-disposition': attachment(posix.basename(path)),
        'x-content-type-options': 'nosniff',
        // Lets a client detect a truncated response.
        'content-length': String(size),
      },
      body: content,
    };
  },
});

const writeFileRoute = defineRoute('writeFile', 'PUT', '/v1/sandbox/{id}/file/{path}', {
  ...writing,
  summary: 'Write a file',
  description:
    'The body is the raw bytes, at most 32 MiB unless the installation allows more; `POST …/files` takes larger files. Creates missing folders; the write is atomic.',
  bridge: true,
  session: true,
  params: FilePath,
  body: 'stream',
  responses: {
    200: { description: 'Written', schema: z.object({ ok: z.literal(true) }).meta({ id: 'WriteResponse' }) },
  },
  streams: true,
  errors: [...WRITE_ERRORS, 'payload_too_large'],
  async handle(request, services) {
    const { params, caller, headers, signal } = request;
    checkSessionHeader(headers);
    const path = absolutePath(params.path);
    const sandboxes = delegatedGuests(services.sandboxes, caller, path);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const { file: bytes } = services.uploads;
    await withUpload(request, { bytes, tooLarge: tooLargeFor(bytes) }, (content) =>
      changeWorkspaceFile(
        { sandboxes, publisher: services.publisher },
        { caller, sandboxId: sandbox.id, path },
        content,
        signal,
      ),
    );
    return json(200, { ok: true });
  },
});

function tooLargeFor(limit: number): (bytes: number) => PortholeError {
  return (bytes) =>
    new PortholeError(
      'payload_too_large',
      `payload too large: ${bytes} bytes exceeds the ${limit}-byte limit`,
    );
}

export const fileRoutes = [readFileRoute, writeFileRoute, deleteFileRoute, moveFileRoute];
