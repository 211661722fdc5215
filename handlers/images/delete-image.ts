import { z } from 'zod';
import { deleteImage } from '#core/use-cases/images/image-catalogue.ts';
import { requireAdmin } from '../pool/require-admin.ts';
import { defineRoute } from '../route.ts';
import { ImageName } from './image-schema.ts';

export const deleteImageRoute = defineRoute({
  id: 'deleteImage',
  method: 'DELETE',
  path: '/api/images/{name}',
  tag: 'Images',
  summary: 'Take an image out of the catalogue',
  description: 'For admins. Sandboxes that were made from it stay.',
  access: 'caller',
  params: z.object({ name: ImageName }),
  responses: { 204: { description: 'It is not there any more' } },
  errors: ['image_not_found', 'image_configured'],
  async handle({ params, caller }, services) {
    requireAdmin(caller, 'delete images', 'the catalogue');
    await deleteImage(services, params.name);
    return { statusCode: 204, headers: {} };
  },
});
