import { useState } from 'react';
import { call } from '../api/client.ts';
import { useAttempt, useNow } from '../live/use-live.ts';
import { Button, Problem } from '../parts/elements.tsx';
import { copyText } from '../parts/copy-text.tsx';
import type { ToolFields } from './tool-text.ts';
import type { DraftLock } from './use-draft-lock.ts';

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

export interface LockBarProps {
  readonly lock: DraftLock;
  readonly user: string;
  readonly admin: boolean;
  readonly changed: boolean;
  readonly code: string;
  readonly fields: () => ToolFields | undefined;
  /** The tool's name, for a copy with the same text. */
  readonly name: string;
  readonly onCopied: (toolId: string) => void;
}

/** The holder of the lock, and the options of other users, who keep their text. */
export function LockBar({ lock, user, admin, changed, code, fields, name, onCopied }: LockBarProps) {
  const now = useNow();
  const [notice, setNotice] = useState('');
  const { busy, problem, attempt } = useAttempt();
  const { state } = lock;
  if (state.kind === 'asking') return null;
  if (state.kind === 'held') {
    // Announced when the lock is taken, not at each renewal.
    return (
      <p className="lock-held">
        <span role="status">You edit it</span>
        <span className="quiet">lock until {clock.format(state.expiresAt)}, renewed while you edit</span>
      </p>
    );
  }
  if (state.kind === 'failed') return <Problem words={state.why} />;
  const { by, had } = state;
  const isFree = by === undefined || by.expiresAt <= now;
  const isOwn = by?.holder === user;
  const copy = async () =>
    setNotice(
      (await copyText(code))
        ? 'Copied.'
        : 'This browser does not let the page copy: select the code and copy it.',
    );
  const makeOther = async () => {
    const given = fields();
    if (given === undefined) return;
    const made = await call('POST /api/v1/editor/tools', {
      body: { name: `${name.slice(0, 190)} (copy)`, ...given },
    });
    onCopied(made.tool_id);
  };
  const until = by === undefined ? '' : ` until ${clock.format(by.expiresAt)}, or longer while they edit`;
  return (
    <div className="reason lock-lost">
      <p role="status">
        {isFree
          ? 'This draft isn’t locked.'
          : isOwn
            ? had
              ? 'You edit this draft in another window now.'
              : 'You edit this draft in another window.'
            : had
              ? `${by.holder} has taken this draft over,${until}.`
              : `${by.holder} edits this draft,${until}.`}
        {changed
          ? ' Your text stays here. It can be saved as the draft, and run, once this page has the lock again.'
          : ''}{' '}
        {notice}
      </p>
      <Problem words={problem} />
      <div className="tools">
        {changed ? (
          <>
            <Button onPress={() => void copy()}>Copy my code</Button>
            <Button isDisabled={busy} onPress={() => void attempt(makeOther)}>
              Make another tool of it
            </Button>
          </>
        ) : null}
        {isFree || isOwn || admin ? (
          <Button variant="primary" isDisabled={busy} onPress={() => void attempt(lock.take)}>
            {isFree ? 'Edit it' : isOwn ? 'Edit it here' : 'Take it over'}
          </Button>
        ) : null}
      </div>
    </div>
  );
}
