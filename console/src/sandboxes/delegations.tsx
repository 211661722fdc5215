import { call } from '../api/client.ts';
import { timeLeft } from '../live/clock.ts';
import { useAnswer, useNow } from '../live/use-live.ts';
import { Button } from '../parts/controls.tsx';
import { Problem } from '../parts/feedback.tsx';
import { FormDialog } from '../parts/dialog-form.tsx';
import { TableHead } from '../lists/table-head.tsx';

const SCOPES = { 'fs:read': 'read files', 'fs:write': 'write files', exec: 'run commands' } as const;

/** Delegations of a sandbox, with a button to revoke each. */
export function Delegations({ sandboxId }: { readonly sandboxId: string }) {
  const path = { id: sandboxId };
  const { value, problem, reload } = useAnswer('GET /v1/sandbox/{id}/delegations', { path }, 10_000);
  const now = useNow();
  if (value === undefined) return <Problem words={problem} onRetry={reload} />;
  return (
    <section aria-labelledby="shared">
      <h2 id="shared">Shared</h2>
      {value.delegations.length === 0 ? (
        <p className="quiet">Not shared with anyone.</p>
      ) : (
        <table className="list stacks">
          <TableHead columns={['To whom', 'May', 'Lasts']} actions />
          <tbody>
            {value.delegations.map(({ delegation_id: id, label, scopes, commands, paths, ...delegated }) => (
              <tr key={id}>
                <td>
                  {label ?? 'no name'}
                  <span className="id delegation-id">{id}</span>
                </td>
                <td className="line">
                  {scopes.map((scope) => SCOPES[scope]).join(', ')}
                  {commands === null ? '' : `; only ${commands.join(', ')}`}
                  {paths === null ? '' : `; only in ${paths.join(', ')}`}
                </td>
                <td>
                  {timeLeft(Date.parse(delegated.expires_at) - now)}
                  {delegated.renewable ? ', may be renewed' : ''}
                </td>
                <td>
                  <div className="tools">
                    <FormDialog
                      trigger={
                        <Button variant="danger" aria-label={`Revoke what ${label ?? id} may`}>
                          Revoke
                        </Button>
                      }
                      title={`Revoke what ${label ?? 'they'} may?`}
                      action="Revoke it"
                      danger
                      onSubmit={async () => {
                        await call('DELETE /v1/sandbox/{id}/delegations/{delegation_id}', {
                          path: { id: sandboxId, delegation_id: id },
                        });
                        reload();
                      }}
                    >
                      <p>At once and everywhere: what was begun with it ends.</p>
                    </FormDialog>
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
