import { type Answer, call } from '../api/client.ts';
import { Button, Icon } from '../parts/elements.tsx';
import { FormDialog } from '../parts/dialog-form.tsx';
import { useAttempt } from '../live/use-live.ts';
import { sandboxName } from './sandbox-name.ts';

export interface SandboxActionsProps {
  readonly sandbox: Answer<'GET /v1/sandbox'>['sandboxes'][number];
  /** What the person may do in it: only its owner stops and deletes it. */
  readonly access?: 'owner' | 'work' | 'view';
  readonly onChange: () => void;
  readonly onDeleted?: () => void;
}

/** Stop, resume and delete. */
export function SandboxActions({
  sandbox,
  access = 'owner',
  onChange,
  onDeleted = onChange,
}: SandboxActionsProps) {
  const { busy, problem, attempt } = useAttempt();
  const path = { id: sandbox.id };
  const name = sandboxName(sandbox);
  const button = (how: 'stop' | 'resume', words: string, during: string) => (
    <Button
      isDisabled={busy}
      aria-label={`${words} ${name}`}
      onPress={() => void attempt(() => call(`POST /v1/sandbox/{id}/${how}`, { path })).then(onChange)}
    >
      <Icon name={how === 'stop' ? 'stop' : 'play'} /> <span className="wide">{busy ? during : words}</span>
    </Button>
  );
  return (
    <div className="tools">
      {sandbox.state === 'running' && access === 'owner' ? button('stop', 'Stop', 'Stopping…') : null}
      {sandbox.state === 'stopped' && access !== 'view' ? button('resume', 'Resume', 'Resuming…') : null}
      {access === 'owner' ? (
        <FormDialog
          trigger={
            <Button variant="danger" aria-label={`Delete ${name}`}>
              <Icon name="trash" /> <span className="wide">Delete</span>
            </Button>
          }
          title={`Delete ${name}?`}
          action="Delete it"
          danger
          onSubmit={async () => {
            await call('DELETE /v1/sandbox/{id}', { path });
            onDeleted();
          }}
        >
          <p>
            This also deletes its files, processes, terminals, previews and delegations. Its runs end. This
            cannot be undone.
          </p>
        </FormDialog>
      ) : null}
      {problem === undefined ? null : (
        <span className="field-error" role="alert">
          {problem}
        </span>
      )}
    </div>
  );
}
