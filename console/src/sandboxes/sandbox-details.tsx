import { type Answer, call } from '../api/client.ts';
import { TableHead } from '../lists/table-head.tsx';
import { formatMebibytes, timeLeft } from '../live/clock.ts';
import { usePageRights } from '../live/page-rights.ts';
import { useAnswer, useAttempt, useNow } from '../live/use-live.ts';
import { networkWords } from '../network/network-changes.ts';
import { CopiedId } from '../parts/copy-text.tsx';
import { Ago, Button, Fact, Problem } from '../parts/elements.tsx';
import { RevokeButton } from '../parts/revoke-button.tsx';

type Detail = Answer<'GET /v1/sandbox/{id}'>;

export interface SandboxDetailsProps {
  readonly sandbox: Detail;
  readonly onChange: () => void;
}

/** Settings of a sandbox, how they are enforced, its lifetime and its delegations. */
export function SandboxDetails({ sandbox, onChange }: SandboxDetailsProps) {
  const { limits, tags, skills } = sandbox;
  return (
    <>
      <Lasting sandbox={sandbox} onChange={onChange} />
      <dl className="facts-list">
        <Fact name="Sandbox">
          <CopiedId id={sandbox.id} />
        </Fact>
        <Fact name="Made">
          <Ago at={sandbox.created_at} /> by {sandbox.owner}
        </Fact>
        <Fact name="Active">
          <Ago at={sandbox.last_active_at} />
        </Fact>
        {sandbox.stop_reason === null ? null : <Fact name="Stopped because">{sandbox.stop_reason}</Fact>}
        <Fact name="Image">{sandbox.image ?? 'default'}</Fact>
        {sandbox.session_key === null ? null : <Fact name="Session key">{sandbox.session_key}</Fact>}
        <Fact name="CPU">
          {limits.cpu.value} <Held by={limits.cpu.enforced_by} />
        </Fact>
        <Fact name="Memory">
          {formatMebibytes(limits.memory_mb.value)} <Held by={limits.memory_mb.enforced_by} />
        </Fact>
        <Fact name="Disk">
          {formatMebibytes(limits.disk_mb.value)} <Held by={limits.disk_mb.enforced_by} />
        </Fact>
        <Fact name="Network">
          {networkWords(sandbox)} <Held by={limits.network.enforced_by} />
        </Fact>
        <Fact name="Environment">
          {sandbox.env_names.length === 0 ? 'none' : sandbox.env_names.join(', ')}
        </Fact>
        {Object.keys(tags).length === 0 ? null : (
          <Fact name="Tags">
            {Object.entries(tags).map(([key, value]) => (
              <span className="tag" key={key}>
                {key}:{value}
              </span>
            ))}
          </Fact>
        )}
        {skills.length === 0 ? null : (
          <Fact name="Skills">
            {skills
              .map(({ name, kept }) =>
                kept.length === 0 ? name : `${name} (changed in the sandbox and left so: ${kept.join(', ')})`,
              )
              .join(', ')}
          </Fact>
        )}
      </dl>
      {sandbox.access === 'owner' ? <Delegations sandboxId={sandbox.id} /> : null}
    </>
  );
}

function Held({ by }: { readonly by: string | null }) {
  return (
    <span className="quiet">{by === null ? '(not enforced on this machine)' : `(enforced by ${by})`}</span>
  );
}

/** How long it runs without use. */
function Lasting({ sandbox, onChange }: SandboxDetailsProps) {
  const now = useNow();
  const { canWork } = usePageRights();
  const { busy, problem, attempt, retry } = useAttempt();
  const { ttl_seconds: ttl, expires_at: expires } = sandbox;
  if (ttl === null) return null;
  const keep = async () => {
    await call('POST /v1/sandbox/{id}/heartbeat', { path: { id: sandbox.id } });
    onChange();
  };
  return (
    <div className="lasting">
      <p>
        {expires === null
          ? `It runs for ${timeLeft(ttl * 1_000)} after each heartbeat.`
          : `It is stopped in ${timeLeft(Date.parse(expires) - now)} without another heartbeat; its files stay. ${canWork ? 'This page is one while it is open.' : ''}`}
      </p>
      {expires === null || !canWork ? null : (
        <Button isDisabled={busy} onPress={() => void attempt(keep)}>
          Send a heartbeat
        </Button>
      )}
      <Problem words={problem} onRetry={retry} />
    </div>
  );
}

const SCOPES = { 'fs:read': 'read files', 'fs:write': 'write files', exec: 'run commands' } as const;

/** Delegations of a sandbox, with a button to revoke each. */
function Delegations({ sandboxId }: { readonly sandboxId: string }) {
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
                    <RevokeButton
                      name={`what ${label ?? id} may`}
                      action="Revoke it"
                      onRevoke={() =>
                        call('DELETE /v1/sandbox/{id}/delegations/{delegation_id}', {
                          path: { id: sandboxId, delegation_id: id },
                        }).then(reload)
                      }
                    >
                      At once and everywhere: what was begun with it ends.
                    </RevokeButton>
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
