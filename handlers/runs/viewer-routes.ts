import { z } from 'zod';
import { requirePerson } from '#core/callers.ts';
import { findRun } from '#core/runs/find-run.ts';
import { addViewer, listViewers } from '#core/runs/run-viewers.ts';
import { defineRoute, json } from '../route.ts';
import { RunPath } from './run-routes.ts';

const ViewersDto = z
  .object({
    viewers: z
      .array(
        z.object({
          user: z.string().describe('Name of a person of the organisation of the run’s owner'),
          is_you: z.boolean(),
        }),
      )
      .describe('At most 50, by name; none for a private run'),
  })
  .meta({ id: 'RunViewers' });

const common = {
  shared: { run: 'view' },
  path: '/api/runs/{id}/viewers',
  tag: 'Runs',
  access: 'caller',
  params: RunPath,
  responses: { 200: { description: 'Who has the run open now', schema: ViewersDto } },
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found'],
} as const;

const toDto = (viewers: readonly string[], you: string): z.infer<typeof ViewersDto> => ({
  viewers: viewers.map((user) => ({ user, is_you: user === you })),
});

export const listViewersRoute = defineRoute({
  ...common,
  id: 'listViewers',
  method: 'GET',
  summary: 'List who has a run open',
  description: 'Its owner and the people of the organisation with whom it is shared.',
  async handle({ params, caller }, services) {
    const person = requirePerson(caller, 'see who has a run open');
    const run = await findRun(services, person, params.id);
    return json(200, toDto(await listViewers(services, run), person.user));
  },
});

export const addViewerRoute = defineRoute({
  ...common,
  id: 'addViewer',
  method: 'PUT',
  summary: 'Say that you have a run open',
  description:
    'Holds for 20 seconds: repeat it every 8. Records nothing for a private run, and nothing for admins of other organisations. Answers who has the run open.',
  async handle({ params, caller }, services) {
    const person = requirePerson(caller, 'have a run open');
    const run = await findRun(services, person, params.id);
    await addViewer(services, person, run);
    return json(200, toDto(await listViewers(services, run), person.user));
  },
});
