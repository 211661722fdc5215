import { useState } from 'react';
import { type Answer, call } from '../api/client.ts';
import { useOlderPages } from '../lists/filtered-list.tsx';
import { Ago, Button, Pending, Problem } from '../parts/elements.tsx';
import { ChangedLines } from '../code/changed-lines.tsx';
import { changedFields, FIELD_NAMES, FIELD_LABELS, textOf, type ToolText } from './tool-text.ts';

type Version = Answer<'GET /api/v1/editor/tools/{tool_id}/versions'>['versions'][number];

const PAGE = 10;

interface VersionsProps {
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
  const [open, setOpen] = useState<string>();
  const { items, problem, reload, showOlder } = useOlderPages(
    async (after) => {
      const { versions, next } = await call('GET /api/v1/editor/tools/{tool_id}/versions', {
        path: { tool_id: toolId },
        query: { limit: PAGE, ...(after !== undefined && { after }) },
      });
      return { items: versions, next };
    },
    ({ version_id: id }) => id,
    // A version that has just been saved is the draft's base.
    versionId,
  );
  if (items === undefined) return <Pending words={problem} onRetry={reload} />;
  return (
    <>
      <Problem words={problem} onRetry={reload} />
      <ul className="versions">
        {items.map((version) => {
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
                  {by}, <Ago at={at} />
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
      {showOlder === undefined ? null : <Button onPress={showOlder}>Show older ones</Button>}
    </>
  );
}

/** Differences between two texts of a tool, field by field. */
export function Changes({ before, after }: { readonly before: ToolText; readonly after: ToolText }) {
  const names = changedFields(before, after);
  if (names.length === 0) return <p className="quiet">There is no difference.</p>;
  return names.map((name) => (
    <section key={name} className="change" aria-label={FIELD_LABELS[name]}>
      <h3>{FIELD_LABELS[name]}</h3>
      <ChangedLines before={before[name]} after={after[name]} />
    </section>
  ));
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
