import { useState } from 'react';
import { type Answer, call } from '../api/client.ts';
import { Button } from '../parts/button.tsx';
import { Choice } from '../parts/controls.tsx';
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

interface ShareRunProps {
  readonly runId: string;
  readonly sharing: Sharing;
  readonly onChange: () => void;
}

/** Shares a run with the people of its owner's organisation. */
export function ShareRun({ runId, sharing, onChange }: ShareRunProps) {
  const [mode, setMode] = useState<Sharing>(sharing);
  const chosen = MODES.find(({ id }) => id === mode) ?? MODES[0];
  return (
    <FormDialog
      trigger={<Button onPress={() => setMode(sharing)}>{sharing === 'private' ? 'Share' : 'Shared'}</Button>}
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
        onChange={(id) => setMode(MODES.find((each) => each.id === id)?.id ?? 'private')}
      />
      <p>{chosen.note}</p>
      <p className="quiet">Only you answer the agent’s requests, complete the run and delete its sandbox.</p>
    </FormDialog>
  );
}
