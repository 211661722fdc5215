import { z } from 'zod';
import { ownerOf, requirePerson } from '#core/callers.ts';
import { pageLimit } from '../page-limit.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxDto, toSandboxDto } from './sandbox-dto.ts';
import { SandboxName, SessionKey, TagFilter } from './sandbox-schemas.ts';

export const listSandboxesRoute = defineRoute({
  id: 'listSandboxes',
  method: 'GET',
  path: '/v1/sandbox',
  tag: 'Sandboxes',
  summary: 'List your sandboxes, newest first',
  access: 'caller',
  query: z.object({
    limit: pageLimit,
    after: z.string().max(500).optional().describe('`next` of the page before'),
    state: z.enum(['creating', 'running', 'stopped']).optional(),
    name: SandboxName.optional(),
    session_key: SessionKey.optional(),
    tag: TagFilter.optional().describe('`key:value`'),
  }),
  responses: {
    200: {
      description: 'A page of sandboxes; `next` is null on the last one',
      schema: z
        .object({ sandboxes: z.array(SandboxDto), next: z.string().nullable() })
        .meta({ id: 'SandboxList' }),
    },
  },
  async handle({ query, caller }, { records, provider }) {
    const person = requirePerson(caller, 'list sandboxes');
    const { limit, after, state, name, session_key: sessionKey, tag } = query;
    const tags = tag === undefined ? {} : { [tag[0]]: tag[1] };
    const page = await records.sandboxes.list(
      person.admin ? undefined : ownerOf(person),
      { state, name, sessionKey, tags },
      { limit, after },
    );
    return json(200, {
      sandboxes: page.items.map((each) => toSandboxDto(each, provider.defaultSize)),
      next: page.next,
    });
  },
});
