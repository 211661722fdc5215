import { useLocation } from 'wouter';
import { plainText } from '#core/shared/plain-text.ts';
import { call } from '../api/client.ts';
import { useAnswer } from '../live/use-live.ts';
import { Button, Check, Choice, formText, TextInput } from '../parts/controls.tsx';
import { FormDialog } from '../parts/dialog-form.tsx';
import { keepToken } from './connect-agent.tsx';

const NEW = 'new';

/** Starts a run in a new or an existing sandbox. */
export function NewRun() {
  const [, navigate] = useLocation();
  const { value: found } = useAnswer('GET /v1/sandbox', { query: { limit: 100 } });
  return (
    <FormDialog
      trigger={<Button variant="primary">New run</Button>}
      title="New run"
      action="Start it"
      onSubmit={async (form) => {
        const title = formText(form, 'title');
        const sandbox = formText(form, 'sandbox');
        const { run_id: id, agent_token: token } = await call('POST /api/runs', {
          body: {
            ...(title === '' ? {} : { title }),
            ...(sandbox === '' || sandbox === NEW ? {} : { sandbox_id: sandbox }),
            auto_approve_tools: form.get('auto') !== null,
          },
        });
        keepToken(id, token, 0);
        navigate(`/runs/${encodeURIComponent(id)}`);
      }}
    >
      <TextInput label="Title" name="title" maxLength={200} hint="What the agent is to do, for people" />
      <Choice
        label="Sandbox"
        name="sandbox"
        defaultValue={NEW}
        options={[
          { id: NEW, words: 'A new one' },
          ...(found?.sandboxes ?? []).map(({ id, name }) => ({
            id,
            words: name === null ? id : `${plainText(name, 60)} (${id})`,
          })),
        ]}
      />
      <Check name="auto">Open previews that its agent asks for without a question</Check>
    </FormDialog>
  );
}
