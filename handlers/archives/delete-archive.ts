import { z } from 'zod';
import { requirePerson } from '#core/callers.ts';
import { archiveNotFound, mayDeleteArchive } from '#core/use-cases/archives/find-archive.ts';
import { defineRoute } from '../route.ts';

export const deleteArchiveRoute = defineRoute({
  id: 'deleteArchive',
  method: 'DELETE',
  path: '/api/archives/{id}',
  tag: 'Sandboxes',
  summary: 'Delete an archive',
  access: 'caller',
  params: z.object({ id: z.string().max(200).describe('Of the archive') }),
  responses: { 204: { description: 'Gone, and its files with it' } },
  errors: ['archive_not_found', 'archive_error'],
  async handle({ params: { id }, caller }, { records, archives }) {
    const person = requirePerson(caller, 'delete archives');
    const archive = await records.archives.get(id);
    if (archive === undefined || !mayDeleteArchive(person, archive)) throw archiveNotFound(id);
    // The files first: what a crash leaves is found by whoever deletes it again.
    await archives?.store.remove(archive.key);
    await records.archives.remove(id);
    return { statusCode: 204, headers: {} };
  },
});
