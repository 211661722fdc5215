import { useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { TableHead } from '../lists/table-head.tsx';
import { useIsOnlyUser, usePerson } from '../live/person.ts';
import { useAnswer, useAttempt } from '../live/use-live.ts';
import { DialogButton, FormDialog } from '../parts/dialog-form.tsx';
import {
  Ago,
  Button,
  Check,
  Choice,
  Empty,
  formText,
  Pending,
  Problem,
  State,
  TextInput,
} from '../parts/elements.tsx';
import { RevokeButton } from '../parts/revoke-button.tsx';
import { ShownOnce } from '../parts/shown-once.tsx';

type Webhook = Answer<'GET /v1/webhooks'>['webhooks'][number];
type Created = Answer<'POST /v1/webhooks'>;

const GROUPS = [
  { id: 'approval.*', words: 'Approvals' },
  { id: 'preview.*', words: 'Previews' },
  { id: 'run.*', words: 'Runs' },
  { id: 'sandbox.*', words: 'Sandboxes' },
  { id: 'checkpoint.*', words: 'Checkpoints' },
  { id: 'inbox.*', words: 'Comments' },
  { id: 'key.*', words: 'Keys' },
  { id: 'budget.*', words: 'Budgets' },
] as const satisfies readonly { readonly id: Webhook['events'][number]; readonly words: string }[];

const SCOPES = [
  { id: 'own', words: 'What is mine' },
  { id: 'org', words: 'All of my organisation' },
  { id: 'installation', words: 'Everything' },
] as const;

const DISABLED = {
  gone: 'The receiver answered that it is gone (410).',
  failing: 'Nothing was delivered for 3 days.',
} as const;

const EVERY_MS = 10_000;

/** What the person has posted to other programs. */
export function Webhooks() {
  const [created, setCreated] = useState<Created>();
  const { value, problem, reload } = useAnswer('GET /v1/webhooks', {}, EVERY_MS);
  const secret = created?.secret ?? created?.public_keys[0];
  return (
    <>
      <div className="section-head">
        <p className="quiet">A webhook posts what happens to a program of yours, signed.</p>
        <NewWebhook
          onCreated={(hook) => {
            setCreated(hook);
            reload();
          }}
        />
      </div>
      {value === undefined ? (
        <Pending words={problem} onRetry={reload} />
      ) : (
        <>
          <Problem words={problem} onRetry={reload} />
          {value.webhooks.length === 0 ? (
            <Empty title="No webhooks yet">
              <p>Create one to hear of approvals in a chat, or of previews in a pull request.</p>
            </Empty>
          ) : (
            <WebhookTable webhooks={value.webhooks} onChange={reload} />
          )}
        </>
      )}
      {created === undefined || secret === undefined ? null : (
        <ShownOnce what="secret" name={hostOf(created)} secret={secret} onClose={() => setCreated(undefined)}>
          <p className="quiet">
            The receiver verifies each message with it, by a library of Standard Webhooks.
          </p>
        </ShownOnce>
      )}
    </>
  );
}

function hostOf({ url }: Pick<Webhook, 'url'>): string {
  return plainText(URL.parse(url)?.host ?? url, 100);
}

function WebhookTable({
  webhooks,
  onChange,
}: {
  readonly webhooks: readonly Webhook[];
  readonly onChange: () => void;
}) {
  return (
    <table className="list">
      <TableHead columns={['Receiver', { wide: 'Events' }, { wide: 'Last delivered' }, 'State']} actions />
      <tbody>
        {webhooks.map((hook) => (
          <tr key={hook.id}>
            <td>
              <bdi className="strong">{hostOf(hook)}</bdi>
              <span className="quiet narrow">{eventsOf(hook)}</span>
            </td>
            <td className="wide">{eventsOf(hook)}</td>
            <td className="wide">
              {hook.delivered_at === null ? (
                <span className="quiet">never</span>
              ) : (
                <Ago at={hook.delivered_at} />
              )}
            </td>
            <td>
              <State value={stateOf(hook)} />
              {hook.disabled_reason === null ? null : (
                <span className="quiet note">{DISABLED[hook.disabled_reason]}</span>
              )}
            </td>
            <td>
              <div className="tools">
                <Deliveries hook={hook} onChange={onChange} />
                <RevokeButton
                  verb="Delete"
                  name={hostOf(hook)}
                  action="Delete webhook"
                  onRevoke={() => call('DELETE /v1/webhooks/{id}', { path: { id: hook.id } }).then(onChange)}
                >
                  Its deliveries are deleted, too.
                </RevokeButton>
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function stateOf({ state, failing_since: failing }: Webhook): string {
  if (state === 'disabled') return 'disabled';
  return failing === null ? 'works' : 'failing';
}

function eventsOf({ events }: Webhook): string {
  if (events.includes('*')) return 'All';
  return events.map((each) => GROUPS.find(({ id }) => id === each)?.words ?? each).join(', ');
}

/** The last deliveries, which can be repeated. */
function Deliveries({ hook, onChange }: { readonly hook: Webhook; readonly onChange: () => void }) {
  return (
    <DialogButton
      trigger={<Button aria-label={`Deliveries to ${hostOf(hook)}`}>Deliveries</Button>}
      aria-label={`Deliveries to ${hostOf(hook)}`}
      className="wide-modal"
    >
      <DeliveryList hook={hook} onChange={onChange} />
    </DialogButton>
  );
}

function DeliveryList({ hook, onChange }: { readonly hook: Webhook; readonly onChange: () => void }) {
  const path = { id: hook.id };
  const { value, problem, reload } = useAnswer(
    'GET /v1/webhooks/{id}/deliveries',
    { path, query: { limit: 20 } },
    2_000,
  );
  const { busy, problem: failure, attempt } = useAttempt();
  const act = (work: () => Promise<unknown>) =>
    void attempt(async () => {
      await work();
      reload();
      onChange();
    });
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  return (
    <>
      <h2>Deliveries</h2>
      <p className="quiet">
        <bdi>{plainText(hook.url, 200)}</bdi>
      </p>
      <Problem words={failure ?? problem} />
      {value.deliveries.length === 0 ? (
        <p className="quiet">Nothing has happened yet. A test event shows whether the receiver answers.</p>
      ) : (
        <table className="list">
          <TableHead columns={['Event', 'State', { wide: 'When' }]} actions />
          <tbody>
            {value.deliveries.map((each) => (
              <tr key={each.id}>
                <td>
                  <span className="strong">{each.type}</span>
                  <span className="quiet note">{plainText(each.subject, 100)}</span>
                </td>
                <td>
                  <State value={each.state} />
                  {each.error === null ? null : (
                    <span className="quiet note">{plainText(each.error, 200)}</span>
                  )}
                </td>
                <td className="wide">
                  <Ago at={each.created_at} />
                </td>
                <td>
                  <Button
                    isDisabled={busy}
                    onPress={() =>
                      act(() =>
                        call('POST /v1/webhooks/{id}/deliveries/{delivery}/redeliver', {
                          path: { ...path, delivery: each.id },
                        }),
                      )
                    }
                  >
                    Send again
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div className="actions">
        {hook.state === 'disabled' ? (
          <Button
            isDisabled={busy}
            onPress={() => act(() => call('POST /v1/webhooks/{id}/enable', { path }))}
          >
            Enable
          </Button>
        ) : (
          <Button isDisabled={busy} onPress={() => act(() => call('POST /v1/webhooks/{id}/test', { path }))}>
            Send a test event
          </Button>
        )}
        <Button slot="close">Done</Button>
      </div>
    </>
  );
}

function NewWebhook({ onCreated }: { readonly onCreated: (hook: Created) => void }) {
  const { admin } = usePerson();
  const isOnlyUser = useIsOnlyUser();
  return (
    <FormDialog
      trigger={<Button variant="primary">New webhook</Button>}
      title="New webhook"
      action="Create webhook"
      onSubmit={async (form) => {
        const chosen = GROUPS.filter(({ id }) => form.getAll('events').includes(id)).map(({ id }) => id);
        const hook = await call('POST /v1/webhooks', {
          body: {
            url: formText(form, 'url'),
            events: chosen.length === 0 ? ['*'] : chosen,
            scope: SCOPES.find(({ id }) => id === form.get('scope'))?.id ?? 'own',
            signature: 'hmac',
          },
        });
        onCreated(hook);
      }}
    >
      <TextInput
        label="URL"
        name="url"
        type="url"
        isRequired
        maxLength={2_000}
        hint="Where events are posted to"
        placeholder="https://"
        autoComplete="off"
      />
      <fieldset>
        <legend>Events; none means all</legend>
        <div className="row">
          {GROUPS.map(({ id, words }) => (
            <Check key={id} name="events" value={id}>
              {words}
            </Check>
          ))}
        </div>
      </fieldset>
      {admin && !isOnlyUser ? (
        <Choice label="Of" name="scope" defaultValue="own" options={[...SCOPES]} />
      ) : null}
    </FormDialog>
  );
}
