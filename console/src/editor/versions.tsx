import { useCallback, useEffect, useState } from 'react';
import { type Answer, call } from '../api/client.ts';
import { timeAgo } from '../live/clock.ts';
import { problemOf, useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Loading, Problem } from '../parts/feedback.tsx';
import { Changes } from './changes.tsx';
import { FIELD_NAMES, FIELD_LABELS, textOf, type ToolText } from './tool-text.ts';

export type Version = Answer<'GET /api/v1/editor/tools/{tool_id}/versions'>['versions'][number];

const PAGE = 10;

export interface VersionsProps {
  readonly toolId: string;
  /** The text in the page. */
  readonly text: ToolText;
  /** The version that the draft is based on. */
  readonly versionId: string;
  readonly mayEdit: boolean;
  readonly onBringBack: (version: Version) => void;
}

/**
 * The versions of a tool: their details, their differences from the page's text, and a button to
 * restore one.
 */
export function Versions({ toolId, text, versionId, mayEdit, onBringBack }: VersionsProps) {
  const [versions, setVersions] = useState<readonly Version[]>();
  const [next, setNext] = useState<string | null>(null);
  const [problem, setProblem] = useState<string>();
  const [open, setOpen] = useState<string>();
  const now = useNow();
  const read = useCallback(
    async (after?: string) => {
      try {
        const page = await call('GET /api/v1/editor/tools/{tool_id}/versions', {
          path: { tool_id: toolId },
          query: { limit: PAGE, ...(after === undefined ? {} : { after }) },
        });
        setProblem(undefined);
        setVersions((before = []) => (after === undefined ? page.versions : [...before, ...page.versions]));
        setNext(page.next);
      } catch (error) {
        setProblem(problemOf(error));
      }
    },
    [toolId],
  );
  // A version that has just been saved is the draft's base.
  useEffect(() => {
    void read();
  }, [read, versionId]);
  if (versions === undefined) {
    return problem === undefined ? <Loading /> : <Problem words={problem} onRetry={() => void read()} />;
  }
  return (
    <>
      {problem === undefined ? null : <Problem words={problem} onRetry={() => void read()} />}
      <ul className="versions">
        {versions.map((version) => {
          const { version_id: id, number, created_by: by, created_at: at } = version;
          const isOpen = open === id;
          return (
            <li key={id}>
              <div className="section-head">
                <h3>
                  Version {number}
                  {id === versionId ? <span className="tag">the draft’s</span> : null}
                </h3>
                <span className="quiet">
                  {by}, <time dateTime={at}>{timeAgo(now - Date.parse(at))}</time>
                </span>
                <Button aria-expanded={isOpen} onPress={() => setOpen(isOpen ? undefined : id)}>
                  {isOpen ? `Close version ${number}` : `Look at version ${number}`}
                </Button>
              </div>
              {isOpen ? (
                <OneVersion
                  version={version}
                  text={text}
                  mayEdit={mayEdit}
                  onBringBack={() => onBringBack(version)}
                />
              ) : null}
            </li>
          );
        })}
      </ul>
      {next === null ? null : <Button onPress={() => void read(next)}>Show older ones</Button>}
    </>
  );
}

interface OneVersionProps {
  readonly version: Version;
  readonly text: ToolText;
  readonly mayEdit: boolean;
  readonly onBringBack: () => void;
}

function OneVersion({ version, text, mayEdit, onBringBack }: OneVersionProps) {
  const own = textOf(version);
  const [isWhole, setWhole] = useState(false);
  return (
    <div className="version">
      <div className="tools">
        <Button variant="primary" isDisabled={!mayEdit} onPress={onBringBack}>
          Bring version {version.number} back
        </Button>
        <Button aria-pressed={isWhole} onPress={() => setWhole(!isWhole)}>
          {isWhole ? 'Show what differs' : 'Show all of it'}
        </Button>
      </div>
      {isWhole ? (
        FIELD_NAMES.filter((name) => own[name] !== '').map((name) => (
          <section key={name} className="change" aria-label={FIELD_LABELS[name]}>
            <h3>{FIELD_LABELS[name]}</h3>
            <pre tabIndex={0} role="region" aria-label={`${FIELD_LABELS[name]} of version ${version.number}`}>
              {own[name].slice(0, 50_000)}
            </pre>
          </section>
        ))
      ) : (
        <>
          <p className="hint">From version {version.number} to the current text:</p>
          <Changes before={own} after={text} />
        </>
      )}
    </div>
  );
}
