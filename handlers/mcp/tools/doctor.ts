import { z } from 'zod';
import { diagnoseSandbox } from '#core/use-cases/doctor/diagnose-sandbox.ts';
import { DiagnosisDto, toDiagnosisDto } from '../../previews/diagnosis-dto.ts';
import { defineTool } from '../mcp-tool.ts';
import { port, runId } from './inputs.ts';
import { runOf } from './run-sandbox.ts';

export const doctorTool = defineTool({
  name: 'doctor',
  title: 'Find out why a preview does not show the app',
  description:
    'Look into the sandbox of a run: what listens there (port, address, process), whether it answers HTTP and WebSockets, and what to do so that a preview shows it. ' +
    'With a port just that one; without, every port that listens.',
  input: z.strictObject({ run_id: runId, port: port.optional() }),
  output: DiagnosisDto,
  annotations: { readOnlyHint: true },
  async run({ run_id, port }, context) {
    const { services, signal } = context;
    const found = await diagnoseSandbox(services, { run: await runOf(context, run_id), port }, signal);
    const lines = found.ports.map((each) => `Port ${each.port}: ${each.advice}`);
    return {
      data: toDiagnosisDto(found, services.preview, services.plane.needsOpenAddress),
      text: lines.length === 0 ? found.advice : lines.join('\n'),
    };
  },
});
