import { structuredPatch } from 'diff';

const AROUND = 3;
const MAX_LINES = 400;
/** Longest comparison, in milliseconds: it blocks the page. */
const MAX_COMPARISON_MS = 200;

/** How a line of a patch begins → how it is shown, and read out. */
const KINDS = {
  '+': { kind: 'added', sign: '+', words: 'added: ' },
  '-': { kind: 'removed', sign: '−', words: 'removed: ' },
  ' ': { kind: 'same', sign: ' ', words: '' },
} as const;

/** The lines that differ between two texts, with a few around them. */
export function ChangedLines({ before, after }: { readonly before: string; readonly after: string }) {
  const patch = structuredPatch('', '', before, after, '', '', {
    context: AROUND,
    timeout: MAX_COMPARISON_MS,
  });
  if (patch === undefined) return <p className="quiet">Too long to compare line by line.</p>;
  // An empty text is for the lines between two hunks: every line of a hunk begins with its sign.
  const lines = patch.hunks.flatMap(({ oldStart, lines }) => [...(oldStart > 1 ? [''] : []), ...lines]);
  return (
    <pre className="diff" tabIndex={0} role="region" aria-label="Lines that differ">
      {lines.slice(0, MAX_LINES).map((line, index) => {
        if (line === '')
          return (
            <span key={index} className="gap">
              {'⋯\n'}
            </span>
          );
        const { kind, sign, words } = KINDS[line.charAt(0) as keyof typeof KINDS] ?? KINDS[' '];
        return (
          <span key={index} className={kind}>
            <span aria-hidden="true">{sign} </span>
            <span className="hidden">{words}</span>
            {`${line.slice(1)}\n`}
          </span>
        );
      })}
      {lines.length > MAX_LINES ? `⋯ and ${lines.length - MAX_LINES} lines more` : ''}
    </pre>
  );
}
