import './changed-lines.css';
import { diffLines, withContext } from './line-diff.ts';

const AROUND = 3;
const MOST_LINES = 400;
const SIGNS = { same: ' ', added: '+', removed: '−' } as const;
const WORDS = { same: '', added: 'added: ', removed: 'removed: ' } as const;

/** The lines that differ between two texts, with a few around them. */
export function ChangedLines({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = diffLines(before, after);
  if (lines === undefined) return <p className="quiet">Too long to compare line by line.</p>;
  const shown = withContext(lines, AROUND);
  return (
    <pre className="diff" tabIndex={0} role="region" aria-label="Lines that differ">
      {shown.slice(0, MOST_LINES).map((line, index) =>
        line === null ? (
          <span key={index} className="gap">
            {'⋯\n'}
          </span>
        ) : (
          <span key={index} className={line.kind}>
            <span aria-hidden="true">{SIGNS[line.kind]} </span>
            <span className="hidden">{WORDS[line.kind]}</span>
            {`${line.text}\n`}
          </span>
        ),
      )}
      {shown.length > MOST_LINES ? `⋯ and ${shown.length - MOST_LINES} lines more` : ''}
    </pre>
  );
}
