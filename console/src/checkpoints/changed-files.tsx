import { useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { formatSize } from '../live/clock.ts';
import { useAnswer } from '../live/use-live.ts';
import { Button, Pending } from '../parts/elements.tsx';

/** Files shown at first. */
const SHOWN = 8;
const MOST = 500;
const TONES = { added: 'good', changed: 'busy', removed: 'bad' } as const;

interface ChangedFilesProps {
  readonly sandboxId: string;
  readonly checkpoint: string;
  /** @default its parent */
  readonly since?: string;
}

/** The files that differ between two checkpoints. */
export function ChangedFiles({ sandboxId, checkpoint, since }: ChangedFilesProps) {
  const [isWhole, setIsWhole] = useState(false);
  const { value, problem, reload } = useAnswer('GET /v1/sandbox/{id}/checkpoints/{checkpoint}/changes', {
    path: { id: sandboxId, checkpoint },
    query: since === undefined ? {} : { since },
  });
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  const shown = value.changes.slice(0, isWhole ? MOST : SHOWN);
  const rest = value.total - shown.length;
  return (
    <div>
      <p className="quiet" role="status">
        {value.total === 0
          ? 'No file differs'
          : value.total === 1
            ? '1 file differs'
            : `${value.total.toLocaleString()} files differ`}
      </p>
      <ul className="changed-files" aria-label="Files that differ">
        {shown.map(({ path, change, before, after }) => (
          <li key={path}>
            <span className={`state ${TONES[change]}`}>{change}</span>
            <code>
              <bdi>{plainText(path, 300)}</bdi>
            </code>
            <span className="quiet">{formatSize(after ?? before ?? 0)}</span>
          </li>
        ))}
      </ul>
      {rest === 0 ? null : isWhole ? (
        <p className="quiet">and {rest.toLocaleString()} more</p>
      ) : (
        <Button variant="plain" onPress={() => setIsWhole(true)}>
          Show {Math.min(rest, MOST - SHOWN).toLocaleString()} more
        </Button>
      )}
    </div>
  );
}
