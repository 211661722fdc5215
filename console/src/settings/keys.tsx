import { useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { TableHead } from '../lists/table-head.tsx';
import { serverNow } from '../live/clock.ts';
import { formatDate, formatMoment } from '../live/time-format.ts';
import { useIsOnlyUser, usePerson } from '../live/person.ts';
import { useAnswer } from '../live/use-live.ts';
import { FormDialog } from '../parts/dialog-form.tsx';
import {
  Ago,
  Button,
  Check,
  Choice,
  Empty,
  formText,
  Pending,
  Problem,
  TextInput,
} from '../parts/elements.tsx';
import { RevokeButton } from '../parts/revoke-button.tsx';
import { ShownOnce } from '../parts/shown-once.tsx';

type Key = Answer<'GET /api/keys'>['keys'][number];
type Created = Answer<'POST /api/keys'>;

const SCOPES: readonly { readonly id: Key['scope']; readonly words: string; readonly note: string }[] = [
  { id: 'full', words: 'Full access', note: 'Everything you may do, except managing keys.' },
  {
    id: 'agent',
    words: 'Agent',
    note: 'Works in your runs and asks for approval like an agent. Cannot approve anything.',
  },
  { id: 'read', words: 'Read only', note: 'Reads runs, sandboxes and files. Changes nothing.' },
];

const DAY_SECONDS = 86_400;
const EXPIRIES = [
  { id: '7', words: '7 days' },
  { id: '30', words: '30 days' },
  { id: '90', words: '90 days' },
  { id: '365', words: '1 year' },
];

const EVERY_MS = 15_000;

/** The keys that the person has made for programs. */
export function Keys() {
  const [isAll, setAll] = useState(false);
  const [created, setCreated] = useState<Created>();
  const { admin: isAdmin } = usePerson();
  const isOnlyUser = useIsOnlyUser();
  const query = isAll ? { all: 'true' as const } : {};
  const { value, problem, reload } = useAnswer('GET /api/keys', { query }, EVERY_MS);
  const add = (key: Created) => {
    setCreated(key);
    reload();
  };
  return (
    <>
      <div className="section-head">
        <p className="quiet">A key lets a program use the API as you. Give each program its own.</p>
        <NewKey onCreated={add} />
      </div>
      {isAdmin && !isOnlyUser ? (
        <Check isSelected={isAll} onChange={setAll}>
          Show everyone’s keys
        </Check>
      ) : null}
      {value === undefined ? (
        <Pending words={problem} onRetry={reload} />
      ) : (
        <>
          <Problem words={problem} onRetry={reload} />
          {value.keys.length === 0 ? (
            <Empty title="No keys yet">
              <p>
                Create one for a script, for CI or for an agent, and revoke it when it is no longer needed.
              </p>
            </Empty>
          ) : (
            <KeyTable keys={value.keys} showsOwner={isAll} onChange={reload} />
          )}
        </>
      )}
      {created === undefined ? null : (
        <ShownOnce what="key" name={created.name} secret={created.key} onClose={() => setCreated(undefined)}>
          <p className="quiet">
            Store it where you keep passwords. Programs send it as <code>Authorization: Bearer</code>. It
            expires on {formatDate(created.expires_at)}.
          </p>
        </ShownOnce>
      )}
    </>
  );
}

interface KeyTableProps {
  readonly keys: readonly Key[];
  readonly showsOwner: boolean;
  readonly onChange: () => void;
}

function KeyTable({ keys, showsOwner, onChange }: KeyTableProps) {
  const isOnlyUser = useIsOnlyUser();
  return (
    <table className="list">
      <TableHead
        columns={[
          'Key',
          ...(showsOwner ? [{ wide: 'Owner' }] : []),
          { wide: 'Scope' },
          { wide: 'Last used' },
          { wide: 'Created' },
          { wide: 'Expires' },
        ]}
        actions
      />
      <tbody>
        {keys.map((key) => (
          <tr key={key.key_id}>
            <td>
              <bdi className="strong">{plainText(key.name, 100)}</bdi>
              <span className="id">{key.prefix}…</span>
              <span className="quiet narrow">
                {showsOwner ? `${plainText(key.user, 100)} · ` : ''}
                {scopeName(key)} · <Expiry at={key.expires_at} before="until " />
              </span>
            </td>
            {showsOwner ? (
              <td className="wide">
                <span className="strong">{plainText(key.user, 100)}</span>{' '}
                <span className="quiet">{plainText(key.org, 100)}</span>
              </td>
            ) : null}
            <td className="wide">
              {scopeName(key)}
              {key.admin && !isOnlyUser ? <span className="tag">admin</span> : null}
            </td>
            <td className="wide">
              {key.last_used_at === null ? (
                <span className="quiet">never</span>
              ) : (
                <Ago at={key.last_used_at} />
              )}
            </td>
            <td className="wide">
              <Ago at={key.created_at} />
            </td>
            <td className="wide">
              <Expiry at={key.expires_at} />
            </td>
            <td>
              <div className="tools">
                <RevokeButton
                  name={plainText(key.name, 100)}
                  action="Revoke key"
                  onRevoke={() => call('DELETE /api/keys/{id}', { path: { id: key.key_id } }).then(onChange)}
                >
                  Programs that use it lose access at once. This cannot be undone.
                </RevokeButton>
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function scopeName({ scope }: Key): string {
  return SCOPES.find(({ id }) => id === scope)?.words ?? scope;
}

function Expiry({ at, before = '' }: { readonly at: string; readonly before?: string }) {
  if (Date.parse(at) <= serverNow()) return <span className="state bad">expired</span>;
  return (
    <time dateTime={at} title={formatMoment(at)}>
      {before}
      {formatDate(at)}
    </time>
  );
}

function NewKey({ onCreated }: { readonly onCreated: (key: Created) => void }) {
  const [scope, setScope] = useState<string>('full');
  return (
    <FormDialog
      trigger={<Button variant="primary">New key</Button>}
      title="New key"
      action="Create key"
      onSubmit={async (form) => {
        const found = SCOPES.find(({ id }) => id === form.get('scope'));
        const key = await call('POST /api/keys', {
          body: {
            name: formText(form, 'name'),
            scope: found?.id ?? 'read',
            expires_in: Number(form.get('expiry')) * DAY_SECONDS,
          },
        });
        onCreated(key);
      }}
    >
      <TextInput
        label="Name"
        name="name"
        isRequired
        maxLength={100}
        hint="What uses it, for example: nightly build"
        autoComplete="off"
      />
      <div className="row">
        <Choice label="Scope" name="scope" value={scope} onChange={setScope} options={SCOPES} />
        <Choice label="Expires after" name="expiry" defaultValue="90" options={EXPIRIES} />
      </div>
      <p className="quiet">{SCOPES.find(({ id }) => id === scope)?.note}</p>
    </FormDialog>
  );
}
