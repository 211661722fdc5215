import { useAnswer } from '../live/use-live.ts';
import { Pending } from '../parts/elements.tsx';
import { FileChanges } from './file-changes.tsx';

interface ChangedFilesProps {
  readonly sandboxId: string;
  readonly checkpoint: string;
  /** @default its parent */
  readonly since?: string;
}

/** The files that differ between two checkpoints. */
export function ChangedFiles({ sandboxId, checkpoint, since }: ChangedFilesProps) {
  const { value, problem, reload } = useAnswer('GET /v1/sandbox/{id}/checkpoints/{checkpoint}/changes', {
    path: { id: sandboxId, checkpoint },
    query: since === undefined ? {} : { since },
  });
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  return <FileChanges {...value} />;
}
