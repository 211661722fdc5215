import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { keptSince } from '#core/pages/look-store.ts';
import { ID_PATTERN, json } from '../route.ts';
import { defineRunRoute, RunPath } from '../runs/run-routes.ts';

const KeptLookDto = z
  .object({
    look_id: z.string().describe('`look_` + ULID; `data.look` of `preview.looked`'),
    at: z.iso.datetime(),
    target_port: z.number().int(),
    path: z.string(),
    viewport: z.object({ width: z.number().int(), height: z.number().int() }),
    full_page: z.boolean(),
    result: z.enum(['works', 'broken', 'unclear']),
    summary: z.string(),
    title: z.string(),
    has_thumbnail: z.boolean(),
  })
  .meta({ id: 'KeptLook' });

const listLooksRoute = defineRunRoute('listLooks', 'GET', '/api/runs/{id}/looks', {
  shared: { run: 'view' },
  tag: 'Previews',
  summary: 'List the kept looks of a run',
  description: 'The last 50 of 24 hours, newest first. The pictures of the last 10 are kept, too.',
  agents: true,
  responses: {
    200: {
      description: 'The looks',
      schema: z.object({ looks: z.array(KeptLookDto) }).meta({ id: 'KeptLooks' }),
    },
  },
  async handle(_request, run, services) {
    const looks = await services.records.looks.list(run.id, run.owner, keptSince(services.clock));
    const shown = looks.map(({ id, at, port, visit, result, summary, title, thumbnail }) => ({
      look_id: id,
      at: at.toISOString(),
      target_port: port,
      path: visit.path,
      viewport: { width: visit.viewport.width, height: visit.viewport.height },
      full_page: visit.picture?.fullPage === true,
      result,
      summary,
      title,
      has_thumbnail: thumbnail !== null,
    }));
    return json(200, { looks: shown });
  },
});

const getLookPictureRoute = defineRunRoute('getLookPicture', 'GET', '/api/runs/{id}/looks/{look}/{picture}', {
  shared: { run: 'view' },
  tag: 'Previews',
  summary: 'Get the picture of a kept look, or its thumbnail',
  agents: true,
  params: RunPath.extend({
    look: z.string().max(64).describe('`look_id`').meta({ pattern: ID_PATTERN }),
    picture: z.enum(['picture', 'thumbnail']),
  }),
  responses: { 200: { description: 'PNG or JPEG', contentType: ['image/png', 'image/jpeg'] } },
  errors: ['look_not_found'],
  async handle({ params }, run, services) {
    const look = await services.records.looks.get(run.id, params.look, run.owner);
    const picture = look?.[params.picture];
    if (!picture || look.at < keptSince(services.clock)) {
      throw new PortholeError(
        'look_not_found',
        `Look ${JSON.stringify(params.look)} of run ${run.id} has no ${params.picture}: the last 50 looks are kept for 24 hours, the pictures of the last 10.`,
      );
    }
    return {
      statusCode: 200,
      // It never changes, and only the caller may see it.
      headers: { 'content-type': picture.mediaType, 'cache-control': 'private, max-age=86400, immutable' },
      body: Buffer.from(picture.base64, 'base64'),
    };
  },
});

export const keptLookRoutes = [listLooksRoute, getLookPictureRoute];
