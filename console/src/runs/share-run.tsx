import { useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { useAnswer } from '../live/use-live.ts';
import { Button, Choice } from '../parts/elements.tsx';
import { FormDialog } from '../parts/dialog-form.tsx';

type Sharing = Answer<'GET /api/runs/{id}'>['sharing'];

const MODES = [
  { id: 'private', words: 'No access', note: 'Only you and administrators can open this run.' },
  {
    id: 'view',
    words: 'Can view',
    note: 'They can open the run, its previews and files, and read the output of its commands.',
  },
  {
    id: 'work',
    words: 'Can work',
    note: 'They can also use terminals, change files, start servers, and open and stop previews.',
  },
] as const satisfies readonly { readonly id: Sharing; readonly words: string; readonly note: string }[];

const modeOf = (sharing: string) => MODES.find(({ id }) => id === sharing) ?? MODES[0];

/** What the people of the owner's organisation may do. */
export const sharingWords = (sharing: Sharing) => modeOf(sharing).words;

interface ShareRunProps {
  readonly runId: string;
  readonly sharing: Sharing;
  readonly onChange: () => void;
}

/** Shares a run with the people of its owner's organisation. */
export function ShareRun({ runId, sharing, onChange }: ShareRunProps) {
  const [mode, setMode] = useState<Sharing>(sharing);
  const chosen = modeOf(mode);
  return (
    <FormDialog
      trigger={<Button onPress={() => setMode(sharing)}>Share run</Button>}
      title="Share this run"
      action="Save"
      onSubmit={async () => {
        await call('PATCH /api/runs/{id}', { path: { id: runId }, body: { sharing: mode } });
        onChange();
      }}
    >
      <Choice
        label="People of your organisation"
        value={mode}
        options={MODES}
        onChange={(id) => setMode(modeOf(id).id)}
      />
      <p>{chosen.note}</p>
      <p className="quiet">Only you answer the agent’s requests, complete the run and delete its sandbox.</p>
    </FormDialog>
  );
}

/** The API counts a viewer as present for 20 seconds. */
const EVERY_MS = 8_000;
/** Named; of more, their number is shown. */
const MAX_SHOWN = 4;

/** Who else has the run open now. The page of a run says so itself while it is visible. */
export function Viewers({ runId }: { readonly runId: string }) {
  const { value } = useAnswer('PUT /api/runs/{id}/viewers', { path: { id: runId } }, EVERY_MS);
  const names = value?.viewers.filter((each) => !each.is_you).map(({ user }) => plainText(user, 60)) ?? [];
  if (names.length === 0) return null;
  const rest = names.length - MAX_SHOWN;
  return (
    <span className="here" title={names.join(', ')}>
      Also here:
      <span className="viewers" role="list">
        {names.slice(0, MAX_SHOWN).map((name) => (
          <span key={name} role="listitem">
            <span className="initials" aria-hidden="true">
              {initialsOf(name)}
            </span>
            <bdi className="name">{name}</bdi>
          </span>
        ))}
        {rest > 0 ? <span role="listitem">and {rest} more</span> : null}
      </span>
    </span>
  );
}

/** Two letters of a name such as `ada.lovelace@example.org`. */
function initialsOf(name: string): string {
  const words = (name.split('@')[0] ?? '').split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
  const [first = '', second = ''] = words.map((word) => Array.from(word)[0] ?? '');
  return (first + second).toUpperCase() || '?';
}
