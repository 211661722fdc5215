import { putImage } from '#core/use-cases/images/image-catalogue.ts';
import { requireAdmin } from '../pool/require-admin.ts';
import { defineRoute, json } from '../route.ts';
import { ImageDto, toImageDto } from './image-dto.ts';
import { ImageFields, ImageName, toCatalogueImage } from './image-schema.ts';

const Body = ImageFields.extend({ name: ImageName }).meta({
  id: 'PutImageRequest',
  examples: [
    {
      name: 'data-science',
      reference: 'registry.example.com/data-science:7',
      description: 'Python with numpy and pandas',
      languages: ['python'],
      resources: { cpu: 2, memory_mb: 4_096 },
    },
  ],
});

export const putImageRoute = defineRoute({
  id: 'putImage',
  method: 'POST',
  path: '/api/images',
  tag: 'Images',
  summary: 'Add an image, or replace the one of its name',
  description:
    'For admins. Sandboxes that are there keep what they were made from. Those of the configuration change with it alone.',
  access: 'caller',
  body: Body,
  responses: {
    200: { description: 'Replaced', schema: ImageDto },
    201: { description: 'Added', schema: ImageDto },
  },
  errors: ['image_configured'],
  async handle({ body, caller }, services) {
    requireAdmin(caller, 'add images', 'the catalogue');
    const { name, ...fields } = body;
    const image = toCatalogueImage(name, fields);
    const isNew = await putImage(services, image);
    return json(isNew ? 201 : 200, toImageDto(image));
  },
});
