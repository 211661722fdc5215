import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { blockPreviews } from '#core/previews/block-previews.ts';
import type { PreviewBlock } from '#core/previews/access-store.ts';
import { defineRoute, json } from '../route.ts';
import { requireAdmin } from '../http/require-admin.ts';

const BLOCKS = '/v1/preview-blocks';
const MAX_BLOCKS = 1_000;

const OwnerOfPreviews = z.object({
  user: z.string().min(1, 'must not be empty').max(320),
  org: z.string().min(1, 'must not be empty').max(320),
});

const BlockDto = OwnerOfPreviews.extend({
  reason: z.string(),
  blocked_by: z.string(),
  blocked_at: z.iso.datetime(),
}).meta({ id: 'PreviewBlock' });

function toBlockDto({ owner, reason, by, at }: PreviewBlock): z.infer<typeof BlockDto> {
  return { user: owner.user, org: owner.org, reason, blocked_by: by, blocked_at: at.toISOString() };
}

const blockRoute = defineRoute('blockPreviews', 'PUT', BLOCKS, {
  tag: 'Previews',
  summary: 'Stop all previews of an owner',
  description:
    'Revokes the URLs of all live previews of the owner, open connections included, and refuses new ones until the block is deleted. Repeat it if it fails. For admins.',
  body: z
    .strictObject({
      ...OwnerOfPreviews.shape,
      reason: z.string().max(500).default('').describe('For admins; the owner does not see it'),
    })
    .meta({ id: 'BlockPreviewsRequest', example: { user: 'mallory', org: 'acme', reason: 'phishing' } }),
  responses: {
    200: {
      description: 'The block',
      schema: BlockDto.extend({
        stopped: z.int().min(0).describe('How many previews were stopped'),
      }).meta({ id: 'BlockedPreviews' }),
    },
  },
  async handle({ body: { user, org, reason }, person, signal }, services) {
    requireAdmin(person, 'stop the previews of an owner', 'the installation');
    const { block, stopped } = await blockPreviews(
      services,
      { owner: { user, org }, reason, by: person },
      signal,
    );
    return json(200, { ...toBlockDto(block), stopped });
  },
});

const listBlocksRoute = defineRoute('listPreviewBlocks', 'GET', BLOCKS, {
  tag: 'Previews',
  summary: 'List the owners who may have no previews',
  description: 'For admins.',
  responses: {
    200: {
      description: 'The newest first, 1,000 at most',
      schema: z.object({ blocks: z.array(BlockDto) }).meta({ id: 'PreviewBlocks' }),
    },
  },
  async handle({ person }, { records }) {
    requireAdmin(person, 'list them', 'the installation');
    return json(200, { blocks: (await records.access.blocks(MAX_BLOCKS)).map(toBlockDto) });
  },
});

const unblockRoute = defineRoute('unblockPreviews', 'DELETE', BLOCKS, {
  tag: 'Previews',
  summary: 'Let an owner have previews again',
  description: 'Previews that were stopped get new URLs when they are started. For admins.',
  query: OwnerOfPreviews,
  responses: { 204: { description: 'Lifted' } },
  errors: ['not_found'],
  async handle({ query, person }, { records }) {
    requireAdmin(person, 'let an owner have previews again', 'the installation');
    if (await records.access.removeBlock(query)) return { statusCode: 204, headers: {} };
    throw new PortholeError('not_found', `The previews of ${query.user} of ${query.org} are not blocked`, {
      remedy: 'GET /v1/preview-blocks lists those that are.',
    });
  },
});

export const blockRoutes = [blockRoute, listBlocksRoute, unblockRoute];
