import { useState } from 'react';
import { Link } from 'wouter';
import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { useOlderPages } from '../lists/filtered-list.tsx';
import { TableHead } from '../lists/table-head.tsx';
import { Ago, Button, Empty, formText, Pending, Problem, TextInput } from '../parts/elements.tsx';

type AuditEvent = Answer<'GET /v1/audit'>['events'][number];

const PAGE = 50;
const EVERY_MS = 10_000;

/** What happened in the installation, the newest first. */
export function Audit() {
  const [user, setUser] = useState('');
  return (
    <>
      <p className="quiet">
        Who signed in, who changed what, and which requests were refused. <code>porthole audit verify</code>{' '}
        checks that no row was changed.
      </p>
      <form
        className="filters"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          setUser(formText(new FormData(event.currentTarget), 'user').trim());
        }}
      >
        <TextInput label="Person" name="user" maxLength={300} autoComplete="off" />
        <Button type="submit">Show</Button>
      </form>
      <AuditRows key={user} user={user} />
    </>
  );
}

function AuditRows({ user }: { readonly user: string }) {
  const { items, problem, reload, showOlder } = useOlderPages(
    async (after) => {
      const query = {
        order: 'desc',
        limit: PAGE,
        ...(user !== '' && { user }),
        ...(after !== undefined && { after: Number(after) }),
      } as const;
      const { events, next } = await call('GET /v1/audit', { query });
      return { items: events, next };
    },
    ({ id }) => id,
    user,
    // A filter reads much of the audit.
    () => (user === '' ? EVERY_MS : undefined),
  );
  if (items === undefined) return <Pending words={problem} onRetry={reload} />;
  return (
    <>
      <Problem words={problem} onRetry={reload} />
      {items.length === 0 ? (
        <Empty title="No events">
          <p>{user === '' ? 'New events appear here.' : 'No event names this person.'}</p>
        </Empty>
      ) : (
        <table className="list audit">
          <TableHead columns={['Event', 'Who', { wide: 'IP address' }, 'When']} />
          <tbody>
            {items.map((event) => (
              <AuditRow key={event.id} event={event} />
            ))}
          </tbody>
        </table>
      )}
      {showOlder === undefined ? null : <Button onPress={showOlder}>Show older ones</Button>}
    </>
  );
}

function AuditRow({ event }: { readonly event: AuditEvent }) {
  const { type, subject, result, actor, on_behalf_of: behalf, source_ip: address, time } = event;
  return (
    <tr>
      <td>
        <span className="strong">
          {type}
          {result === 'denied' ? <span className="tag">denied</span> : null}
        </span>
        <span className="quiet note">
          <Subject subject={subject} />
        </span>
      </td>
      <td>
        {actor === null ? (
          <span className="quiet">redacted</span>
        ) : (
          <bdi className="note">{nameOf(actor)}</bdi>
        )}
        {behalf === null ? null : <span className="quiet note">for {plainText(behalf, 100)}</span>}
      </td>
      <td className="wide">{address}</td>
      <td>
        <Ago at={time} />
      </td>
    </tr>
  );
}

/** What was changed; a run and a sandbox with a link to their page. */
function Subject({ subject }: { readonly subject: string }) {
  const [, kind = '', id = ''] = /^(run|sandbox)\/([\w-]+)/.exec(subject) ?? [];
  const words = <bdi>{plainText(subject, 200)}</bdi>;
  return id === '' ? words : <Link href={kind === 'run' ? `/runs/${id}` : `/sandboxes/${id}`}>{words}</Link>;
}

function nameOf({ kind, id }: NonNullable<AuditEvent['actor']>): string {
  if (kind === 'porthole') return 'Porthole';
  return id === null ? kind : plainText(id, 100);
}
