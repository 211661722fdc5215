import { z } from 'zod';
import { deleteImage, listImages, putImage } from '#core/images/image-catalogue.ts';
import type { CatalogueImage } from '#core/images/image-store.ts';
import { defineRoute, json } from '../route.ts';
import { ImageFields, ImageName, toCatalogueImage } from '#protocol/settings/image-schemas.ts';
import { requireAdmin } from '../http/require-admin.ts';

const deleteImageRoute = defineRoute('deleteImage', 'DELETE', '/api/images/{name}', {
  tag: 'Images',
  summary: 'Remove an image from the catalogue',
  description: 'For admins. Its sandboxes stay.',
  params: z.object({ name: ImageName }),
  responses: { 204: { description: 'Removed' } },
  errors: ['image_not_found', 'image_configured'],
  async handle({ params, person }, services) {
    requireAdmin(person, 'delete images', 'the catalogue');
    await deleteImage(services, params.name);
    return { statusCode: 204, headers: {} };
  },
});

const ImageDto = z
  .object({
    name: z.string().describe('What `image` of a new sandbox or run names'),
    reference: z.string(),
    description: z.string(),
    languages: z.array(z.string()),
    resources: z
      .object({ cpu: z.number().optional(), memory_mb: z.int().optional(), disk_mb: z.int().optional() })
      .describe('Defaults of its sandboxes'),
  })
  .meta({ id: 'Image' });

const ListedImageDto = ImageDto.extend({
  source: z
    .enum(['configuration', 'api'])
    .describe('Whether it is part of the configuration, or was added by POST'),
}).meta({ id: 'ListedImage' });

function toImageDto(image: CatalogueImage): z.infer<typeof ImageDto> {
  const { name, reference, description, languages, resources } = image;
  return {
    name,
    reference,
    description,
    languages: [...languages],
    resources: { cpu: resources.cpu, memory_mb: resources.memoryMb, disk_mb: resources.diskMb },
  };
}

const listImagesRoute = defineRoute('listImages', 'GET', '/api/images', {
  tag: 'Images',
  summary: 'List the images for sandboxes',
  description:
    'By name, those that the provider of this installation can run. A sandbox that names no image gets the default.',
  responses: {
    200: {
      description: 'The catalogue',
      schema: z.object({ images: z.array(ListedImageDto) }).meta({ id: 'ImageList' }),
    },
  },
  async handle(_request, services) {
    const images = await listImages(services);
    return json(200, { images: images.map((image) => ({ ...toImageDto(image), source: image.source })) });
  },
});

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

const putImageRoute = defineRoute('putImage', 'POST', '/api/images', {
  tag: 'Images',
  summary: 'Add an image, or replace the one of its name',
  description:
    'For admins. Existing sandboxes keep their image. Images of the configuration change only there.',
  body: Body,
  responses: {
    200: { description: 'Replaced', schema: ImageDto },
    201: { description: 'Added', schema: ImageDto },
  },
  errors: ['image_configured'],
  async handle({ body, person }, services) {
    requireAdmin(person, 'add images', 'the catalogue');
    const { name, ...fields } = body;
    const image = toCatalogueImage(name, fields);
    const isNew = await putImage(services, image);
    return json(isNew ? 201 : 200, toImageDto(image));
  },
});

export const imageRoutes = [listImagesRoute, putImageRoute, deleteImageRoute];
