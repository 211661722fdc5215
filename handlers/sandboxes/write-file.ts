import { type Readable, Transform } from 'node:stream';
import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { writeWorkspaceFile } from '#core/use-cases/workspace-files.ts';
import { defineRoute, json } from '../route.ts';
import { absolutePath, FilePath } from './file-path.ts';

/** 32 MiB, the bridge's limit. */
export const MAX_FILE_BYTES = 33_554_432;

export const writeFileRoute = defineRoute({
  id: 'writeFile',
  method: 'PUT',
  path: '/v1/sandbox/{id}/file/{path}',
  tag: 'Sandboxes',
  summary: 'Write a file',
  description:
    'The body is the raw bytes, at most 32 MiB. Missing folders are made; the file appears whole or not at all.',
  access: 'caller',
  agents: true,
  params: FilePath,
  body: 'stream',
  responses: {
    200: { description: 'Written', schema: z.object({ ok: z.literal(true) }).meta({ id: 'WriteResponse' }) },
  },
  errors: [
    'path_outside_workspace',
    'sandbox_not_found',
    'sandbox_not_running',
    'payload_too_large',
    'workspace_archive_write_error',
    'not_streamable',
  ],
  async handle({ params, caller, headers, stream, signal }, services) {
    const sandbox = await findSandbox(services, caller, params.id, { agents: true });
    const path = absolutePath(params.path);
    const announced = Number(headers['content-length'] ?? 0);
    if (announced > MAX_FILE_BYTES) throw tooLarge(announced);
    const upload = stream();
    const content = limited(upload);
    try {
      await writeWorkspaceFile(services, sandbox.id, path, content, signal);
    } finally {
      // What was not read must not hold the connection back.
      upload.unpipe();
      content.destroy();
    }
    return json(200, { ok: true });
  },
});

function limited(source: Readable): Readable {
  let seen = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length;
      done(seen > MAX_FILE_BYTES ? tooLarge(seen) : null, chunk);
    },
  });
  source.once('error', (error) => counted.destroy(error));
  source.once('close', () => {
    // A client that went away in the middle must not look like the end of the file.
    if (!source.readableEnded)
      counted.destroy(new PortholeError('invalid_request', 'The upload was cut off: send it again.'));
  });
  return source.pipe(counted);
}

function tooLarge(bytes: number): PortholeError {
  return new PortholeError(
    'payload_too_large',
    `payload too large: ${bytes} bytes exceeds the ${MAX_FILE_BYTES}-byte limit`,
  );
}
