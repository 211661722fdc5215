import { plainText } from '../../../base/plain-text.ts';
import type { Answer } from '../api/client.ts';
import type { RunEvent } from '../runs/event-labels.ts';

export type Checkpoint = Answer<'GET /v1/sandbox/{id}/checkpoints'>['checkpoints'][number];

const CAUSES: Readonly<Record<Checkpoint['cause'], string>> = {
  manual: 'Made by hand',
  restore: 'Before a restore',
  approval: 'Before an approval',
  edits: 'After edits',
  command: 'Before a command',
};

export function checkpointName({ label, cause }: Checkpoint): string {
  return label === null ? CAUSES[cause] : plainText(label, 200);
}

/** The look that is nearest in time. */
export function nearestLook(events: readonly RunEvent[], { created_at: at }: Checkpoint) {
  const distance = (event: RunEvent) => Math.abs(Date.parse(event.at) - Date.parse(at));
  return events
    .filter(({ type, data }) => type === 'preview.looked' && typeof data['look'] === 'string')
    .toSorted((a, b) => distance(a) - distance(b))[0];
}
