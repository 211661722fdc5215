import { z } from 'zod';
import { requirePerson } from '#core/callers.ts';
import { createRun } from '#core/use-cases/create-run.ts';
import { defineRoute, json } from '../route.ts';
import { RunDto, toRunDto } from './run-dto.ts';

const Body = z
  .strictObject({
    title: z.string().max(200, 'at most 200 characters').optional(),
    sandbox_id: z
      .string()
      .max(128)
      .optional()
      .describe('One of your sandboxes; without it a new one is made'),
    image: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('Name of an image of the catalogue for the new sandbox; without it the default'),
    auto_approve_tools: z
      .boolean()
      .default(false)
      .describe('Previews that the agent asks for open without a person'),
  })
  .meta({ id: 'CreateRunRequest' });

export const createRunRoute = defineRoute({
  id: 'createRun',
  method: 'POST',
  path: '/api/runs',
  tag: 'Runs',
  summary: 'Make a run',
  description:
    "A run is one agent's work in one sandbox. The `agent_token` is answered here and never again.",
  access: 'caller',
  body: Body,
  responses: {
    201: {
      description: 'The run, with its agent token',
      schema: RunDto.extend({ agent_token: z.string() }).meta({ id: 'CreatedRun' }),
    },
  },
  errors: ['image_not_supported', 'sandbox_not_found', 'quota_exceeded', 'capacity_exceeded'],
  async handle({ body, caller, signal }, services) {
    const { run, agentToken } = await createRun(
      services,
      requirePerson(caller, 'make runs'),
      {
        title: body.title,
        sandboxId: body.sandbox_id,
        image: body.image,
        autoApproveTools: body.auto_approve_tools,
      },
      signal,
    );
    return json(201, { ...toRunDto(run), agent_token: agentToken });
  },
});
