import { z } from 'zod';
import { ownerOf, requirePerson } from '#core/callers.ts';
import { PortholeError } from '#core/errors.ts';
import type { SandboxRecord } from '#core/ports/sandbox-records.ts';
import { endSandbox } from '#core/use-cases/end-sandbox.ts';
import { everyItem } from '#core/use-cases/every-item.ts';
import { defineRoute, json } from '../route.ts';
import { TagFilter } from './sandbox-schemas.ts';

/** How many ids a refusal names. */
const MOST_NAMED = 10;

export const deleteSandboxesRoute = defineRoute({
  id: 'deleteSandboxes',
  method: 'DELETE',
  path: '/v1/sandbox',
  tag: 'Sandboxes',
  summary: 'Destroy your sandboxes of a tag, and their files',
  description:
    'For when a thread is deleted: `?tag=thread_id:42`. Where any of them was not made with `delete_with_thread`, none is deleted, unless `force=true`. May be repeated.',
  access: 'caller',
  query: z.object({
    tag: TagFilter.describe('`key:value`').meta({ example: 'thread_id:42' }),
    force: z
      .enum(['true', 'false'], 'must be true or false')
      .default('false')
      .describe('Whether the others go, too'),
  }),
  responses: {
    200: {
      description: 'Those that are gone',
      schema: z.object({ ids: z.array(z.string()) }).meta({ id: 'DeletedSandboxes' }),
    },
  },
  errors: ['sandboxes_kept', 'exec_transport_error'],
  async handle({ query, caller }, services) {
    const owner = ownerOf(requirePerson(caller, 'delete sandboxes'));
    const [key, value] = query.tag;
    const { sandboxes } = services.records;
    const tagged: SandboxRecord[] = [];
    const own = everyItem((page) => sandboxes.list(owner, { tags: { [key]: value } }, page));
    for await (const sandbox of own) tagged.push(sandbox);
    const kept = tagged.filter(({ deleteWithThread }) => !deleteWithThread).map(({ id }) => id);
    if (kept.length > 0 && query.force !== 'true') {
      const named = kept.slice(0, MOST_NAMED).join(', ');
      throw new PortholeError(
        'sandboxes_kept',
        `${kept.length} of ${tagged.length} sandboxes were not made with delete_with_thread (${named}${kept.length > MOST_NAMED ? ', …' : ''}), so none was deleted: say force=true to delete them all.`,
      );
    }
    // One after the other: destroying is the provider's hardest work.
    for (const sandbox of tagged) await endSandbox(services, sandbox, 'owner');
    return json(200, { ids: tagged.map(({ id }) => id) });
  },
});
