import { type ReactNode, useId, useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import type { Answer } from '../api/client.ts';
import { formatSize } from '../live/clock.ts';
import { Button } from '../parts/elements.tsx';

/** Files shown at first. */
const SHOWN = 8;
const MOST = 500;
const TONES = { added: 'good', changed: 'busy', removed: 'bad' } as const;

type Changes = Pick<Answer<'POST /v1/sandbox/{id}/compare'>, 'total' | 'changes'>;
export type FileChange = Changes['changes'][number];

interface FileChangesProps extends Changes {
  /** The lines of a file that differ, for a press. */
  readonly linesOf?: (change: FileChange) => ReactNode;
}

/** Files that were added, changed and removed. */
export function FileChanges({ total, changes, linesOf }: FileChangesProps) {
  const [isWhole, setIsWhole] = useState(false);
  const shown = changes.slice(0, isWhole ? MOST : SHOWN);
  const rest = total - shown.length;
  return (
    <div>
      <p className="quiet" role="status">
        {total === 0
          ? 'No file differs'
          : total === 1
            ? '1 file differs'
            : `${total.toLocaleString()} files differ`}
      </p>
      <ul className="changed-files" aria-label="Files that differ">
        {shown.map((each) => (
          <li key={each.path}>
            <span className={`state ${TONES[each.change]}`}>{each.change}</span>
            <code>
              <bdi>{plainText(each.path, 300)}</bdi>
            </code>
            <span className="quiet">{formatSize(each.after ?? each.before ?? 0)}</span>
            {linesOf === undefined ? null : <Lines path={each.path}>{() => linesOf(each)}</Lines>}
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

function Lines({ path, children }: { readonly path: string; readonly children: () => ReactNode }) {
  const [isOpen, setIsOpen] = useState(false);
  const place = useId();
  const words = isOpen ? 'Hide lines' : 'Show lines';
  return (
    <>
      <Button
        variant="plain"
        aria-label={`${words} of ${plainText(path, 300)}`}
        aria-expanded={isOpen}
        aria-controls={place}
        onPress={() => setIsOpen((was) => !was)}
      >
        {words}
      </Button>
      <div id={place} className="lines">
        {isOpen ? children() : null}
      </div>
    </>
  );
}
