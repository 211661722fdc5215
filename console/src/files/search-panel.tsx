import { useState } from 'react';
import { type Answer, call } from '../api/client.ts';
import { Button, Problem } from '../parts/elements.tsx';
import { useAttempt } from '../live/use-live.ts';
import { shownName } from './file-names.ts';

interface SearchPanelProps {
  readonly sandboxId: string;
  readonly onMatch: (path: string, line: number) => void;
  readonly onClose: () => void;
}

/** Searches a text in the files of the workspace. */
export function SearchPanel({ sandboxId, onMatch, onClose }: SearchPanelProps) {
  const [found, setFound] = useState<Answer<'GET /v1/sandbox/{id}/search'> & { readonly text: string }>();
  const { busy, problem, attempt } = useAttempt();
  const [text, setText] = useState('');
  const search = () =>
    void attempt(async () => {
      const options = { path: { id: sandboxId }, query: { text } };
      setFound({ text, ...(await call('GET /v1/sandbox/{id}/search', options)) });
    });
  const files = new Set(found?.matches.map(({ path }) => path));
  return (
    <section className="search-panel" aria-label="Search in files">
      <form
        className="inline"
        onSubmit={(event) => {
          event.preventDefault();
          if (text !== '' && !busy) search();
        }}
      >
        <span className="field">
          <input
            aria-label="Text to search for"
            placeholder="Search in all files"
            value={text}
            autoFocus
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </span>
        <Button type="submit" isDisabled={busy || text === ''}>
          {busy ? 'Searching…' : 'Search'}
        </Button>
        <Button onPress={onClose}>Close search</Button>
      </form>
      <Problem words={problem} onRetry={search} />
      {found === undefined ? null : (
        <>
          <p className="quiet" role="status">
            {found.matches.length === 0
              ? `No file contains “${found.text}”. node_modules and .git are not searched.`
              : `${found.matches.length}${found.truncated ? '+' : ''} lines in ${files.size} ${files.size === 1 ? 'file' : 'files'}`}
          </p>
          {[...files].map((path) => (
            <div key={path} className="search-file">
              <h4>
                <bdi>{shownName(path.slice('/workspace/'.length))}</bdi>
              </h4>
              <ul>
                {found.matches
                  .filter((each) => each.path === path)
                  .map(({ line, text: words }) => (
                    <li key={line}>
                      <button type="button" className="button plain" onClick={() => onMatch(path, line)}>
                        <span className="line-number">{line}</span>
                        <code dir="ltr">{shownName(words)}</code>
                      </button>
                    </li>
                  ))}
              </ul>
            </div>
          ))}
        </>
      )}
    </section>
  );
}
