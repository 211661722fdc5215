import { z } from 'zod';
import type { RunEvent, RunEventType } from '#core/ports/timeline.ts';

const TYPES = [
  'run.created',
  'run.completed',
  'sandbox.created',
  'sandbox.stopped',
  'sandbox.resumed',
  'sandbox.destroyed',
  'preview.opened',
  'preview.kept',
  'preview.stopped',
  'preview.reaped',
  'preview.looked',
  'tool.approval_required',
  'tool.approved',
  'tool.denied',
  'tool.timed_out',
  'tool.withdrawn',
  'port.listening',
  'port.closed',
  'server.changed',
  'process.started',
  'process.exited',
] as const satisfies readonly RunEventType[];

/** One event of a run's timeline. */
export const EventDto = z
  .object({
    id: z.string().describe('1, 2, 3 … within the run, without a gap'),
    type: z.enum(TYPES),
    at: z.iso.datetime(),
    data: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .describe('What the type says; never a token or a URL'),
  })
  .meta({ id: 'RunEvent' });

export function toEventDto({ seq, type, at, data }: RunEvent): z.infer<typeof EventDto> {
  return { id: String(seq), type, at: at.toISOString(), data };
}
