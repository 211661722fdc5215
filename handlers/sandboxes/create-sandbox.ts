import { z } from 'zod';
import { ownerOf, requirePerson } from '#core/callers.ts';
import { createSandbox } from '#core/use-cases/create-sandbox.ts';
import { defineRoute, json } from '../route.ts';

const Body = z
  .object({
    image: z.string().min(1).max(512).optional().describe('Container image, where the provider has images'),
  })
  .meta({ id: 'CreateSandboxRequest' });

export const createSandboxRoute = defineRoute({
  id: 'createSandbox',
  method: 'POST',
  path: '/v1/sandbox',
  tag: 'Sandboxes',
  summary: 'Create a sandbox',
  access: 'caller',
  bridge: true,
  body: Body,
  responses: {
    200: { description: 'Its id', schema: z.object({ id: z.string() }).meta({ id: 'SandboxId' }) },
  },
  errors: ['image_not_supported'],
  async handle({ body, caller, signal }, services) {
    const owner = ownerOf(requirePerson(caller, 'create sandboxes'));
    const id = await createSandbox(
      services,
      { owner, image: body.image },
      (sandbox) => Promise.resolve(sandbox.id),
      signal,
    );
    return json(200, { id });
  },
});
