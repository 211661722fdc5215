import { z } from 'zod';
import { diagnoseSandbox } from '#core/use-cases/doctor/diagnose-sandbox.ts';
import { findRun } from '#core/use-cases/find-run.ts';
import { defineRoute, json } from '../route.ts';
import { RunPath } from '../runs/run-dto.ts';
import { DiagnosisDto, toDiagnosisDto } from './diagnosis-dto.ts';

const PORT_MESSAGE = 'must be an integer between 1 and 65535';

export const diagnoseSandboxRoute = defineRoute({
  id: 'diagnoseSandbox',
  method: 'GET',
  path: '/api/runs/{id}/sandbox/doctor',
  tag: 'Previews',
  summary: 'Find out why a preview does not show the app',
  description:
    'What listens in the sandbox, whether it answers HTTP and WebSockets, and one sentence of advice each. Asks the servers themselves, with a `GET /`; changes nothing.',
  access: 'caller',
  agents: true,
  channel: true,
  params: RunPath,
  query: z.object({
    port: z
      .string()
      .regex(/^\d{1,5}$/, PORT_MESSAGE)
      .transform(Number)
      .refine((port) => port >= 1 && port <= 65_535, PORT_MESSAGE)
      .optional()
      .describe('The port to look into; without it every one that listens')
      .meta({ example: '3000' }),
  }),
  responses: { 200: { description: 'What was found', schema: DiagnosisDto } },
  errors: ['invalid_run_id', 'foreign_run', 'run_not_found', 'sandbox_not_running', 'exec_transport_error'],
  async handle({ params, query, caller, signal }, services) {
    const run = await findRun(services, caller, params.id, { agents: true });
    const found = await diagnoseSandbox(services, { run, port: query.port }, signal);
    return json(200, toDiagnosisDto(found, services.preview, services.plane.needsOpenAddress));
  },
});
