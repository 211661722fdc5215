import { z } from 'zod';
import { archiveNotFound } from '#core/archives/archive-sandbox.ts';
import type { ArchiveRecord } from '#core/archives/archive-store.ts';
import { listedOwner, mayManage } from '#core/callers.ts';
import { pageQuery, pageResponse } from '../http/read-input.ts';
import { ID_PATTERN, defineRoute, json } from '../route.ts';

const ArchiveDto = z
  .object({
    id: z
      .string()
      .describe('For `from_archive` of a new sandbox')
      .meta({ example: 'arc_mfrggzdfmztwq2lk_1' }),
    sandbox_id: z.string().describe('The sandbox that it was'),
    name: z.string().nullable().describe("The sandbox's"),
    image: z.string().nullable().describe('null: the default'),
    owner: z.string(),
    size: z.number().int().describe('In bytes, as a tar'),
    left_out: z.number().int().describe('Entries that no archive can hold, e.g. devices'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Archive' });

function toArchiveDto(archive: ArchiveRecord): z.infer<typeof ArchiveDto> {
  const { id, sandbox, owner, size, leftOut, createdAt } = archive;
  return {
    id,
    sandbox_id: sandbox.id,
    name: sandbox.name,
    image: sandbox.image,
    owner: owner.user,
    size,
    left_out: leftOut,
    created_at: createdAt.toISOString(),
  };
}

const deleteArchiveRoute = defineRoute('deleteArchive', 'DELETE', '/api/archives/{id}', {
  tag: 'Sandboxes',
  summary: 'Delete an archive',
  params: z.object({ id: z.string().max(200).describe('Of the archive').meta({ pattern: ID_PATTERN }) }),
  responses: { 204: { description: 'Deleted, with its files' } },
  errors: ['archive_not_found', 'archive_error'],
  async handle({ params: { id }, person }, { records, archives }) {
    const archive = await records.archives.get(id);
    if (archive === undefined || !mayManage(person, archive)) throw archiveNotFound(id);
    // Files first: after a crash, the record remains and the deletion can be retried.
    await archives?.store.remove(archive.key);
    await records.archives.remove(id);
    return { statusCode: 204, headers: {} };
  },
});

const listArchivesRoute = defineRoute('listArchives', 'GET', '/api/archives', {
  tag: 'Sandboxes',
  summary: 'List your archives, newest first',
  description:
    'The files of sandboxes that were destroyed after their retention. Needs PORTHOLE_ARCHIVE_BUCKET.',
  query: z.object({
    ...pageQuery,
    sandbox_id: z.string().max(128).optional().describe('Those of one sandbox'),
  }),
  responses: pageResponse('archives', ArchiveDto, 'ArchiveList'),
  async handle({ query: { limit, after, sandbox_id }, person }, { records }) {
    const page = await records.archives.list(listedOwner(person), { limit, after }, sandbox_id);
    return json(200, { archives: page.items.map(toArchiveDto), next: page.next });
  },
});

export const archiveRoutes = [listArchivesRoute, deleteArchiveRoute];
