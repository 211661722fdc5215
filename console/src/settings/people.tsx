import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { TableHead } from '../lists/table-head.tsx';
import { formatMoment } from '../live/time-format.ts';
import { usePerson } from '../live/person.ts';
import { useAnswer } from '../live/use-live.ts';
import { FormDialog } from '../parts/dialog-form.tsx';
import { Ago, Button, formText, Pending, Problem, TextInput } from '../parts/elements.tsx';

type Owner = Pick<Answer<'GET /api/people'>['people'][number], 'user' | 'org'>;
type Row = Owner & Partial<Answer<'GET /api/people'>['people'][number]>;
type Block = Answer<'GET /v1/preview-blocks'>['blocks'][number];

/** Where people and their roles are kept: Porthole itself has no list of them. */
const MANAGED: Readonly<Record<Answer<'GET /api/installation'>['sign_in'], string>> = {
  none: 'You are the only user.',
  keys: 'The configuration of this Porthole lists the people and the admins.',
  oidc: 'Your identity provider manages people and roles. Porthole knows each when they sign in, and has no list of members.',
  keys_and_oidc:
    'Your identity provider and the configuration of this Porthole manage people and roles. Porthole has no list of members.',
};

const isSame = (a: Owner, b: Owner) => a.user === b.user && a.org === b.org;

/** The people with runs that this person may see. Admins block the previews of each. */
export function People() {
  const you = usePerson();
  const { value: installation } = useAnswer('GET /api/installation', {});
  const { value, problem, reload } = useAnswer('GET /api/people', {});
  const blocked = useAnswer('GET /v1/preview-blocks', you.admin ? {} : null);
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  const blocks = blocked.value?.blocks ?? [];
  const isListed = (owner: Owner) => value.people.some((each) => isSame(each, owner));
  const rows: readonly Row[] = [
    ...(isListed(you) ? [] : [you]),
    ...value.people,
    ...blocks.filter((each) => !isSame(each, you) && !isListed(each)).map(({ user, org }) => ({ user, org })),
  ];
  return (
    <>
      <Problem words={problem ?? blocked.problem} onRetry={problem === undefined ? blocked.reload : reload} />
      <p className="quiet">{installation === undefined ? ' ' : MANAGED[installation.sign_in]}</p>
      <table className="list">
        <TableHead
          columns={['Person', { wide: 'Organisation' }, 'Runs', { wide: 'Active' }, { wide: 'Last run' }]}
          actions={you.admin}
        />
        <tbody>
          {rows.map((row) => {
            const { user, org, runs = 0, active_runs: active = 0, last_run_at: last } = row;
            const block = blocks.find((each) => isSame(each, row));
            return (
              <tr key={`${org} ${user}`}>
                <td>
                  <span className="strong">
                    <bdi>{plainText(user, 100)}</bdi>
                    {isSame(row, you) ? (
                      <span className="tag">you, {you.admin ? 'admin' : 'member'}</span>
                    ) : null}
                  </span>
                  <span className="quiet narrow">{plainText(org, 100)}</span>
                  {block === undefined ? null : <BlockText block={block} />}
                </td>
                <td className="wide">{plainText(org, 100)}</td>
                <td>{runs.toLocaleString()}</td>
                <td className="wide">{active.toLocaleString()}</td>
                <td className="wide">
                  {last === undefined ? <span className="quiet">none</span> : <Ago at={last} />}
                </td>
                {you.admin ? (
                  <td>
                    <div className="tools">
                      {isSame(row, you) && block === undefined ? null : (
                        <SwitchBlock owner={row} isBlocked={block !== undefined} onChange={blocked.reload} />
                      )}
                    </div>
                  </td>
                ) : null}
              </tr>
            );
          })}
        </tbody>
      </table>
      <p className="quiet">
        {you.admin ? 'Everyone who has runs here' : 'You, and those who share runs with your organisation'}.
        Only your own role is known here.
      </p>
    </>
  );
}

function BlockText({ block: { reason, blocked_by: by, blocked_at: at } }: { readonly block: Block }) {
  return (
    <span className="quiet" title={formatMoment(at)}>
      <span className="state bad">previews blocked</span> by {plainText(by, 100)} <Ago at={at} />
      {reason === '' ? '' : `: “${plainText(reason, 500)}”`}
    </span>
  );
}

interface SwitchBlockProps {
  readonly owner: Owner;
  readonly isBlocked: boolean;
  readonly onChange: () => void;
}

/** Ends all previews of an owner and refuses new ones, or allows them again. */
function SwitchBlock({ owner: { user, org }, isBlocked, onChange }: SwitchBlockProps) {
  const action = isBlocked ? 'Allow' : 'Block';
  const title = `${action} previews of ${plainText(user, 100)}`;
  return (
    <FormDialog
      trigger={
        <Button variant={isBlocked ? 'normal' : 'danger'} aria-label={title}>
          {action}
        </Button>
      }
      title={`${title}?`}
      action={`${action} previews`}
      danger={!isBlocked}
      onSubmit={async (form) => {
        if (isBlocked) await call('DELETE /v1/preview-blocks', { query: { user, org } });
        else await call('PUT /v1/preview-blocks', { body: { user, org, reason: formText(form, 'reason') } });
        onChange();
      }}
    >
      {isBlocked ? (
        <p>Previews can be started again. Those that were stopped get new links.</p>
      ) : (
        <>
          <p>
            All live previews end at once, with their links. New ones are refused until you allow them again.
          </p>
          <TextInput
            label="Reason"
            name="reason"
            maxLength={500}
            hint="For admins. The owner does not see it."
            autoComplete="off"
          />
        </>
      )}
    </FormDialog>
  );
}
