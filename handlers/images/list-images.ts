import { z } from 'zod';
import { requirePerson } from '#core/callers.ts';
import { listImages } from '#core/use-cases/images/image-catalogue.ts';
import { defineRoute, json } from '../route.ts';
import { ListedImageDto, toListedImageDto } from './image-dto.ts';

export const listImagesRoute = defineRoute({
  id: 'listImages',
  method: 'GET',
  path: '/api/images',
  tag: 'Images',
  summary: 'List the images that sandboxes may be made from',
  description:
    'By name, those that the provider of this installation can run. A sandbox that names no image gets the default.',
  access: 'caller',
  responses: {
    200: {
      description: 'The catalogue',
      schema: z.object({ images: z.array(ListedImageDto) }).meta({ id: 'ImageList' }),
    },
  },
  async handle({ caller }, services) {
    requirePerson(caller, 'list images');
    return json(200, { images: (await listImages(services)).map(toListedImageDto) });
  },
});
