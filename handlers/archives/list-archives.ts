import { z } from 'zod';
import { ownerOf, requirePerson } from '#core/callers.ts';
import { pageLimit } from '../page-limit.ts';
import { defineRoute, json } from '../route.ts';
import { ArchiveDto, toArchiveDto } from './archive-dto.ts';

export const listArchivesRoute = defineRoute({
  id: 'listArchives',
  method: 'GET',
  path: '/api/archives',
  tag: 'Sandboxes',
  summary: 'List your archives, newest first',
  description:
    'What was in sandboxes that were destroyed after their retention. There are none where PORTHOLE_ARCHIVE_BUCKET is not set.',
  access: 'caller',
  query: z.object({
    limit: pageLimit,
    after: z.string().max(500).optional().describe('`next` of the page before'),
    sandbox_id: z.string().max(128).optional().describe('Those of one sandbox'),
  }),
  responses: {
    200: {
      description: 'A page of archives; `next` is null on the last one',
      schema: z
        .object({ archives: z.array(ArchiveDto), next: z.string().nullable() })
        .meta({ id: 'ArchiveList' }),
    },
  },
  async handle({ query: { limit, after, sandbox_id }, caller }, { records }) {
    const person = requirePerson(caller, 'list archives');
    const owner = person.admin ? undefined : ownerOf(person);
    const page = await records.archives.list(owner, { limit, after }, sandbox_id);
    return json(200, { archives: page.items.map(toArchiveDto), next: page.next });
  },
});
