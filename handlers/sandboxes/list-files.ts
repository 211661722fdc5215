import { z } from 'zod';
import { delegatedProvider } from '#core/use-cases/delegations/delegated-provider.ts';
import { readListing } from '#core/use-cases/list-workspace-files.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { defineRoute } from '../route.ts';
import { FolderPath } from './folder-path.ts';
import { inListingThread } from './listing-thread.ts';
import { SandboxPath } from './sandbox-path.ts';

const MOST_DEPTH = 16;
const DEPTH = `must be a whole number from 1 to ${MOST_DEPTH}`;

const Entry = z
  .object({
    path: z.string().describe('Absolute; bytes that are no UTF-8 are U+FFFD'),
    name: z.string(),
    type: z.enum(['file', 'directory', 'symlink', 'other']),
    size: z.number().int().nullable().describe('In bytes, of a file'),
    mtime: z.iso.datetime().nullable().describe('null: beyond the years that RFC 3339 has'),
    mode: z.string().describe('Octal, with the three bits above the permissions').meta({ example: '0644' }),
  })
  .meta({ id: 'FileEntry' });

export const listFilesRoute = defineRoute({
  id: 'listFiles',
  method: 'GET',
  path: '/v1/sandbox/{id}/files',
  tag: 'Sandboxes',
  summary: 'List a folder',
  description:
    'By path, links not followed. At most 10,000 entries, and 4 MiB of names: `truncated` says that there are more, which a listing of a folder below, or a smaller depth, shows.',
  access: 'caller',
  class: 'heavy',
  agents: true,
  delegates: { scope: 'fs:read', enforces: 'paths' },
  params: SandboxPath,
  query: z.object({
    path: FolderPath,
    depth: z.coerce
      .number(DEPTH)
      .int(DEPTH)
      .min(1, DEPTH)
      .max(MOST_DEPTH, DEPTH)
      .default(1)
      .describe('1: what is in the folder itself'),
  }),
  responses: {
    200: {
      description: 'What is in it',
      schema: z.object({ entries: z.array(Entry), truncated: z.boolean() }).meta({ id: 'FileList' }),
    },
  },
  errors: [
    'path_outside_workspace',
    'sandbox_not_found',
    'workspace_read_not_found',
    'sandbox_not_running',
    'workspace_archive_read_error',
    'exec_transport_error',
  ],
  async handle({ params, query: { path, depth }, caller, signal }, services) {
    const provider = delegatedProvider(services.provider, caller, path);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const listing = await readListing({ provider }, sandbox.id, path, { depth }, signal);
    return {
      statusCode: 200,
      headers: { 'content-type': 'application/json' },
      body: await inListingThread(listing),
    };
  },
});
