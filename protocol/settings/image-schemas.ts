import { z } from 'zod';

export const ImageName = z
  .string()
  .regex(
    /^(?=.{1,63}$)[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/,
    'must be 1 to 63 lower-case letters, digits, ".", "_" or "-", beginning and ending with a letter or digit',
  );

const within = (schema: z.ZodNumber, min: number, max: number) => {
  const message = `must be from ${min} to ${max}`;
  return schema.min(min, message).max(max, message).optional();
};

/**
 * All fields of an image except its name, as in the API and the configuration. Resource bounds are
 * the configuration's.
 */
export const ImageFields = z.strictObject({
  reference: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}$/,
      'must be a reference of an image, e.g. registry.example.com/python@sha256:…',
    )
    .describe('Where the provider finds it; by digest, sandboxes are all made from the same'),
  description: z.string().max(1_024, 'must be at most 1024 characters').default(''),
  languages: z
    .array(
      z
        .string()
        .regex(/^[a-z0-9][a-z0-9+#._-]{0,31}$/, 'must be 1 to 32 lower-case letters, digits or signs'),
    )
    .max(32, 'must be at most 32')
    .default([]),
  resources: z
    .strictObject({
      cpu: within(z.number('must be a number'), 0.1, 1_024).describe('Cores'),
      memory_mb: within(z.int('must be a whole number'), 64, 16_777_216).describe('MiB'),
      disk_mb: within(z.int('must be a whole number'), 16, 16_777_216).describe('MiB'),
    })
    .default({})
    .describe('Defaults of its sandboxes'),
});

export function toCatalogueImage(
  name: string,
  { reference, description, languages, resources }: z.infer<typeof ImageFields>,
) {
  const { cpu, memory_mb: memoryMb, disk_mb: diskMb } = resources;
  return { name, reference, description, languages, resources: { cpu, memoryMb, diskMb } };
}
