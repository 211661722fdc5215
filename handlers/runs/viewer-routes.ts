import { z } from 'zod';
import { addViewer, listViewers } from '#core/runs/run-viewers.ts';
import { json } from '../route.ts';
import { defineRunRoute } from './run-routes.ts';

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

const VIEWERS = '/api/runs/{id}/viewers';

const common = {
  shared: { run: 'view' },
  tag: 'Runs',
  responses: { 200: { description: 'Who has the run open now', schema: ViewersDto } },
} as const;

const toDto = (viewers: readonly string[], you: string): z.infer<typeof ViewersDto> => ({
  viewers: viewers.map((user) => ({ user, is_you: user === you })),
});

const listViewersRoute = defineRunRoute('listViewers', 'GET', VIEWERS, {
  ...common,
  summary: 'List who has a run open',
  description: 'Its owner and the people of the organisation with whom it is shared.',
  async handle({ person }, run, services) {
    return json(200, toDto(await listViewers(services, run), person.user));
  },
});

const addViewerRoute = defineRunRoute('addViewer', 'PUT', VIEWERS, {
  ...common,
  summary: 'Record that you have a run open',
  description:
    'Valid for 20 seconds: repeat it every 8. Not recorded for private runs and admins of other organisations. Returns who has the run open.',
  async handle({ person }, run, services) {
    await addViewer(services, person, run);
    return json(200, toDto(await listViewers(services, run), person.user));
  },
});

export const viewerRoutes = [listViewersRoute, addViewerRoute];
