import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { resolveWorkspacePath } from '#base/workspace-path.ts';
import { delegatedGuests } from '#core/delegations/delegate-sandbox.ts';
import { validatedTar } from '#base/tar/validate-tar.ts';
import { persistWorkspace } from '#core/files/persist-workspace.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import { attachment } from '../http/response-headers.ts';
import { defineRoute } from '../route.ts';
import { FolderPath, reading } from './folder-routes.ts';

export const downloadFolderRoute = defineRoute('downloadFolder', 'GET', '/v1/sandbox/{id}/archive', {
  ...reading,
  summary: 'Download a folder',
  description:
    'As a plain tar with members `./…`, or as a zip. Symbolic links are links in both; devices, targets of links, mounted buckets and uploads in progress are in neither; pipes are in the tar alone. What the sandbox’s user may not read is left out and listed in the entry `.porthole-unreadable-files`.',
  class: 'heavy',
  query: z.object({ path: FolderPath, format: z.enum(['tar', 'zip']).default('tar') }),
  responses: { 200: { description: 'The archive', contentType: ['application/x-tar', 'application/zip'] } },
  streams: true,
  async handle({ params, query: { path, format }, caller, signal }, services) {
    const folder = resolveWorkspacePath(path, 'path');
    const sandboxes = delegatedGuests(services.sandboxes, caller, folder);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const { tar } = await persistWorkspace(
      { sandboxes },
      sandbox.id,
      { path: folder, copiesHardLinks: format === 'zip' },
      signal,
    );
    return {
      statusCode: 200,
      headers: {
        'content-type': format === 'zip' ? 'application/zip' : 'application/x-tar',
        'content-disposition': attachment(`${posix.basename(folder)}.${format}`),
        'x-content-type-options': 'nosniff',
      },
      body:
        format === 'zip'
          ? // Loaded lazily: most processes never create a zip.
            (await import('./zip-of-tar.ts')).zipOfTar(tar)
          : Readable.from(validatedTar(tar), { objectMode: false }),
    };
  },
});
