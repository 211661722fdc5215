import { z } from 'zod';
import { listedOwner, ownerOf } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { endSandbox } from '#core/sandboxes/end-sandbox.ts';
import { SANDBOX_SORTS, type SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { everyItem } from '#base/reads.ts';
import {
  filterQuery,
  listFilterOf,
  pageQuery,
  pageResponse,
  queryFlag,
  totalField,
} from '../http/read-input.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxDto, toSandboxDto } from './sandbox-dto.ts';
import { SandboxName, SessionKey, TagFilter } from './sandbox-schemas.ts';

/** Maximum number of ids in an error. */
const MAX_NAMED = 10;

const deleteSandboxesRoute = defineRoute('deleteSandboxes', 'DELETE', '/v1/sandbox', {
  tag: 'Sandboxes',
  summary: 'Destroy your sandboxes of a tag, and their files',
  description:
    'For deleted threads: `?tag=thread_id:42`. If any sandbox was not created with `delete_with_thread`, none is deleted, unless `force=true`. Can be repeated.',
  query: z.object({
    tag: TagFilter.describe('`key:value`').meta({ example: 'thread_id:42' }),
    force: queryFlag().describe('Whether to delete the others, too'),
  }),
  responses: {
    200: {
      description: 'The deleted sandboxes',
      schema: z.object({ ids: z.array(z.string()) }).meta({ id: 'DeletedSandboxes' }),
    },
  },
  errors: ['sandboxes_kept', 'exec_transport_error'],
  async handle({ query, person }, services) {
    const owner = ownerOf(person);
    const [key, value] = query.tag;
    const { sandboxes } = services.records;
    const tagged: SandboxRecord[] = [];
    const own = everyItem((page) => sandboxes.list(owner, { tags: { [key]: value } }, page));
    for await (const sandbox of own) tagged.push(sandbox);
    const kept = tagged.filter(({ deleteWithThread }) => !deleteWithThread).map(({ id }) => id);
    if (kept.length > 0 && !query.force) {
      const named = kept.slice(0, MAX_NAMED).join(', ');
      throw new PortholeError(
        'sandboxes_kept',
        `${kept.length} of ${tagged.length} sandboxes were not created with delete_with_thread (${named}${kept.length > MAX_NAMED ? ', …' : ''}), so none was deleted: send force=true to delete them all.`,
      );
    }
    // Sequentially: destroying is the provider's most expensive operation.
    for (const sandbox of tagged) await endSandbox(services, sandbox, 'owner');
    return json(200, { ids: tagged.map(({ id }) => id) });
  },
});

const listSandboxesRoute = defineRoute('listSandboxes', 'GET', '/v1/sandbox', {
  tag: 'Sandboxes',
  summary: 'List your sandboxes',
  description:
    'Newest first, unless `sort` says otherwise; filters are combined. `query` searches name, id, session key, image, tags (as `key:value`) and owner. Admins list the sandboxes of all owners.',
  query: z.object({
    ...pageQuery,
    ...filterQuery,
    state: z.enum(['creating', 'running', 'stopped']).optional(),
    name: SandboxName.optional(),
    session_key: SessionKey.optional(),
    tag: TagFilter.optional().describe('`key:value`'),
    sort: z
      .enum(SANDBOX_SORTS, `must be one of ${SANDBOX_SORTS.join(', ')}`)
      .default('newest')
      .describe('`active`: the last used first. `name`: in the order of names, those without one first'),
  }),
  responses: pageResponse('sandboxes', SandboxDto, 'SandboxList', { total: totalField }),
  async handle({ query, person }, { records, sandboxes }) {
    const owner = listedOwner(person);
    const { limit, after, state, name, session_key: sessionKey, sort } = query;
    const filter = { ...listFilterOf(query), state, name, sessionKey };
    const [page, total] = await Promise.all([
      records.sandboxes.list(owner, filter, { limit, after }, sort),
      query.count ? records.sandboxes.count(owner, filter) : null,
    ]);
    return json(200, {
      sandboxes: page.items.map((each) => toSandboxDto(each, sandboxes.defaultSize)),
      next: page.next,
      total,
    });
  },
});

export const sandboxListRoutes = [listSandboxesRoute, deleteSandboxesRoute];
