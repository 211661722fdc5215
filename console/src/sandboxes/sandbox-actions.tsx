import { type Answer, call } from '../api/client.ts';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog-form.tsx';
import { useAttempt } from '../parts/use-attempt.ts';

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
  const name = sandbox.name ?? sandbox.id;
  const act = (what: () => Promise<unknown>) => void attempt(what).then(onChange);
  return (
    <div className="tools">
      {sandbox.state === 'running' && access === 'owner' ? (
        <Button
          isDisabled={busy}
          aria-label={`Stop ${name}`}
          onPress={() => act(() => call('POST /v1/sandbox/{id}/stop', { path }))}
        >
          {busy ? 'Stopping…' : 'Stop'}
        </Button>
      ) : null}
      {sandbox.state === 'stopped' && access !== 'view' ? (
        <Button
          isDisabled={busy}
          aria-label={`Resume ${name}`}
          onPress={() => act(() => call('POST /v1/sandbox/{id}/resume', { path }))}
        >
          {busy ? 'Resuming…' : 'Resume'}
        </Button>
      ) : null}
      {access === 'owner' ? (
        <FormDialog
          trigger={
            <Button variant="danger" aria-label={`Delete ${name}`}>
              Delete
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
