/** E2B's templates, read only: the images of the catalogue, and `base`, the default image. */
import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { listImages } from '#core/images/image-catalogue.ts';
import type { CatalogueImage } from '#core/images/image-store.ts';
import { defineRoute, json, type Route } from '../route.ts';
import type { Services } from '../services.ts';
import { BASE, control, cpuCountOf, ENVD_VERSION } from './control-routes.ts';

/** Times that E2B's clients read, and the catalogue does not keep. */
const LONG_AGO = new Date(0).toISOString();

function toTemplate(
  { sandboxes: { defaultSize } }: Services,
  { name, resources }: Pick<CatalogueImage, 'name' | 'resources'>,
) {
  const { cpu, memoryMb, diskMb } = resources;
  return {
    templateID: name,
    buildID: name,
    aliases: [name],
    names: [name],
    public: true,
    cpuCount: cpuCountOf(cpu ?? defaultSize.cpu),
    memoryMB: memoryMb ?? defaultSize.memoryMb,
    diskSizeMB: diskMb ?? defaultSize.diskMb,
    envdVersion: ENVD_VERSION,
    buildStatus: 'ready',
    buildCount: 1,
    spawnCount: 0,
    createdAt: LONG_AGO,
    updatedAt: LONG_AGO,
    lastSpawnedAt: null,
    createdBy: null,
  };
}

const MAX_PAGE = 100;
const ListQuery = z.object({
  /** A key has one team. */
  teamID: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(MAX_PAGE),
  nextToken: z.string().max(512).optional(),
});

function listRoute(id: string, path: string): Route {
  return defineRoute(id, 'GET', path, {
    ...control,
    summary: 'List templates: `base`, and the images of the catalogue',
    query: ListQuery,
    responses: { 200: { description: 'The templates', schema: z.array(z.unknown()) } },
    async handle({ query: { limit, nextToken } }, services) {
      const all = [{ name: BASE, resources: {} }, ...(await listImages(services))];
      const from = all.findIndex(({ name }) => name === nextToken) + 1;
      const page = all.slice(from, from + limit);
      const last = from + limit < all.length ? page.at(-1) : undefined;
      const templates = page.map((image) => toTemplate(services, image));
      return json(200, templates, last === undefined ? {} : { 'x-next-token': last.name });
    },
  });
}

/** As E2B has it, `namespace/name:tag`. */
export const TemplateName = z.string().regex(/^[\w.:/@-]{1,512}$/, 'must be the name of a template');

const aliasRoute = defineRoute('e2bFindTemplate', 'GET', '/e2b/templates/aliases/{alias}', {
  ...control,
  summary: 'Whether a template exists',
  params: z.object({ alias: TemplateName }),
  responses: {
    200: {
      description: 'It exists',
      schema: z.object({ templateID: z.string(), public: z.literal(true) }),
    },
  },
  errors: ['image_not_found'],
  async handle({ params: { alias } }, services) {
    const isKnown = alias === BASE || (await listImages(services)).some(({ name }) => name === alias);
    if (isKnown) return json(200, { templateID: alias, public: true });
    throw new PortholeError(
      'image_not_found',
      `Template ${JSON.stringify(alias.slice(0, 100))} does not exist`,
      {
        remedy: 'GET /e2b/templates lists those that do.',
      },
    );
  },
});

function buildRoute(id: string, path: string): Route {
  return defineRoute(id, 'POST', path, {
    ...control,
    summary: 'Build a template: not supported',
    responses: { 202: { description: 'Never: templates are not built here' } },
    errors: ['not_implemented'],
    handle() {
      throw new PortholeError('not_implemented', 'Templates cannot be built here', {
        remedy:
          'build an image of the Dockerfile, and ask an admin to add it to the catalogue with POST /api/images.',
      });
    },
  });
}

export const e2bTemplateRoutes: readonly Route[] = [
  listRoute('e2bListTemplates', '/e2b/v2/templates'),
  listRoute('e2bListTemplatesV1', '/e2b/templates'),
  aliasRoute,
  buildRoute('e2bBuildTemplate', '/e2b/v3/templates'),
  buildRoute('e2bBuildTemplateV2', '/e2b/v2/templates'),
  buildRoute('e2bBuildTemplateV1', '/e2b/templates'),
];
