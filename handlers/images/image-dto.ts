import { z } from 'zod';
import type { CatalogueImage } from '#core/ports/images.ts';
import type { ListedImage } from '#core/use-cases/images/image-catalogue.ts';

const described = {
  name: z.string().describe('What `image` of a new sandbox or run names'),
  reference: z.string(),
  description: z.string(),
  languages: z.array(z.string()),
  resources: z
    .object({ cpu: z.number().optional(), memory_mb: z.int().optional(), disk_mb: z.int().optional() })
    .describe('What a sandbox of it gets where its request says nothing'),
};

export const ImageDto = z.object(described).meta({ id: 'Image' });

export const ListedImageDto = z
  .object({
    ...described,
    source: z
      .enum(['configuration', 'api'])
      .describe('Whether it comes with the installation, or was added by POST'),
  })
  .meta({ id: 'ListedImage' });

export function toImageDto(image: CatalogueImage): z.infer<typeof ImageDto> {
  const { name, reference, description, languages, resources } = image;
  return {
    name,
    reference,
    description,
    languages: [...languages],
    resources: { cpu: resources.cpu, memory_mb: resources.memoryMb, disk_mb: resources.diskMb },
  };
}

export function toListedImageDto(image: ListedImage): z.infer<typeof ListedImageDto> {
  return { ...toImageDto(image), source: image.source };
}
