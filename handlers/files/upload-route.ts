import { z } from 'zod';
import { performerOf } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { type UploadedFile, uploadFiles } from '#core/files/upload-files.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import { type MultipartPart, multipartParts } from '../http/multipart.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';
import { FolderPath, WRITE_ERRORS } from './folder-routes.ts';

const LIMITS = {
  // One form field, so that an error can name it.
  fields: 1,
  fieldBytes: 0,
  files: 1_000,
  // The guest streams to the disk of its sandbox, which may be full.
  fileBytes: Infinity,
  totalBytes: Infinity,
};

export const uploadFilesRoute = defineRoute('uploadFiles', 'POST', '/v1/sandbox/{id}/files', {
  shared: { sandbox: 'work' },
  tag: 'Sandboxes',
  summary: 'Upload many files',
  description:
    'All or none. The filename of each part is its path below `path`, which must not leave it. At most 1,000 files, of any size that the disk of the sandbox holds. Creates missing folders and replaces existing files.',
  class: 'heavy',
  agents: true,
  delegates: { scope: 'fs:write' },
  params: SandboxPath,
  query: z.object({ path: FolderPath }),
  body: {
    form: {
      files: {
        description: 'Each with a filename; the name of the part is ignored',
        file: true,
        many: true,
        required: true,
      },
    },
  },
  responses: {
    200: {
      description: 'What was written, in the order of the form',
      schema: z
        .object({
          files: z.array(
            z.object({ path: z.string().describe('Absolute'), size: z.number().int().describe('In bytes') }),
          ),
        })
        .meta({ id: 'UploadedFiles' }),
    },
  },
  streams: true,
  errors: [...WRITE_ERRORS, 'payload_too_large'],
  async handle({ params, query: { path }, caller, headers, stream, signal }, services) {
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const files = onlyFiles(multipartParts({ headers, stream }, LIMITS));
    const written = await uploadFiles(services, sandbox.id, path, files, signal);
    for (const file of written)
      services.publisher.publish(sandbox.id, 'file_written', { path: file.path, ...performerOf(caller) });
    return json(200, { files: written });
  },
});

async function* onlyFiles(
  parts: AsyncIterable<MultipartPart>,
): AsyncGenerator<UploadedFile, void, undefined> {
  for await (const { name, filename, stream } of parts) {
    if (filename === undefined) {
      throw new PortholeError(
        'invalid_request',
        `The part ${JSON.stringify(name.slice(0, 100))} has no filename: only files are taken.`,
      );
    }
    yield { filename, stream };
  }
}
