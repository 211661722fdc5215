import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type Answer, call } from '../api/client.ts';
import { EXAMPLE, FIRST_CODE } from '../editor/examples.ts';
import { useAnswer, useAttempt } from '../live/use-live.ts';
import { Ago, Button, Choice, Empty, formText, Pending, Problem, TextInput } from '../parts/elements.tsx';
import { FormDialog } from '../parts/dialog-form.tsx';
import { TableHead } from '../lists/table-head.tsx';

type Tool = Answer<'GET /api/v1/editor/tools'>['tools'][number];

/** Maximum tools listed; programs can paginate. */
const MAX_TOOLS = 1_000;

/** The user's tools of the editor. */
export default function ToolsPage() {
  const { value, problem, reload } = useAnswer(
    'GET /api/v1/editor/tools',
    { query: { limit: MAX_TOOLS } },
    10_000,
  );
  const [search, setSearch] = useState('');
  const wanted = search.trim().toLowerCase();
  const found = (value?.tools ?? []).filter(({ name, tool_id: id, owner }) =>
    [name, id, owner].some((text) => text.toLowerCase().includes(wanted)),
  );
  return (
    <>
      <div className="page-head">
        <h1>Tools</h1>
        <NewTool />
      </div>
      {value === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {value === undefined ? (
        <Pending words={problem} onRetry={reload} />
      ) : value.tools.length === 0 ? (
        <NoTools />
      ) : (
        <>
          <div className="filters">
            <TextInput label="Search" type="search" value={search} onChange={setSearch} autoComplete="off" />
          </div>
          <p className="hidden" role="status">
            {wanted === '' ? '' : `${found.length} found`}
          </p>
          {found.length === 0 ? (
            <Empty title="No tool has that in its name, its id or its owner">
              <Button onPress={() => setSearch('')}>Show all of them</Button>
            </Empty>
          ) : (
            <table className="list">
              <TableHead columns={['Tool', { wide: 'Owner' }, 'Made']} actions />
              <tbody>
                {found.map((tool) => (
                  <ToolRow key={tool.tool_id} tool={tool} onChange={reload} />
                ))}
              </tbody>
            </table>
          )}
          {value.next === null ? null : (
            <p className="quiet">These are the newest {MAX_TOOLS}: the API has the others.</p>
          )}
        </>
      )}
    </>
  );
}

interface ToolRowProps {
  readonly tool: Tool;
  readonly onChange: () => void;
}

function ToolRow({ tool: { tool_id: id, name, owner, created_at: at }, onChange }: ToolRowProps) {
  const path = { tool_id: id };
  return (
    <tr>
      <td>
        <Link href={`/tools/${encodeURIComponent(id)}`}>{name}</Link>
        <span className="id">{id}</span>
      </td>
      <td className="wide">{owner}</td>
      <td>
        <Ago at={at} />
      </td>
      <td>
        <div className="tools">
          <FormDialog
            trigger={<Button aria-label={`Rename ${name}`}>Rename</Button>}
            title="Rename the tool"
            action="Rename it"
            onSubmit={async (form) => {
              await call('PUT /api/v1/editor/tools/{tool_id}', {
                path,
                body: { name: formText(form, 'name') },
              });
              onChange();
            }}
          >
            <TextInput label="Name" name="name" defaultValue={name} isRequired maxLength={200} />
          </FormDialog>
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
              await call('DELETE /api/v1/editor/tools/{tool_id}', { path });
              onChange();
            }}
          >
            <p>Its draft, its versions and its runs go with it, and cannot be brought back.</p>
          </FormDialog>
        </div>
      </td>
    </tr>
  );
}

/** Explains tools, and creates a first one. */
function NoTools() {
  const [, navigate] = useLocation();
  const { busy, problem, attempt, retry } = useAttempt();
  const begin = async () => {
    const { tool_id: id } = await call('POST /api/v1/editor/tools', { body: EXAMPLE });
    navigate(`/tools/${encodeURIComponent(id)}`);
  };
  return (
    <Empty title="No tools yet">
      <p>A tool is a piece of code with a form: edited here, and run in a sandbox before it is saved.</p>
      <Problem words={problem} onRetry={retry} />
      <Button isDisabled={busy} onPress={() => void attempt(begin)}>
        Begin with an example
      </Button>
    </Empty>
  );
}

function NewTool() {
  const [, navigate] = useLocation();
  return (
    <FormDialog
      trigger={<Button variant="primary">New tool</Button>}
      title="New tool"
      action="Create tool"
      onSubmit={async (form) => {
        const language = form.get('language') === 'node' ? 'node' : 'python';
        const { tool_id: id } = await call('POST /api/v1/editor/tools', {
          body: {
            name: formText(form, 'name'),
            language,
            entrypoint: 'run',
            source_code: FIRST_CODE[language],
          },
        });
        navigate(`/tools/${encodeURIComponent(id)}`);
      }}
    >
      <TextInput label="Name" name="name" isRequired maxLength={200} />
      <Choice
        label="Language"
        name="language"
        defaultValue="python"
        options={[
          { id: 'python', words: 'Python' },
          { id: 'node', words: 'Node.js' },
        ]}
      />
    </FormDialog>
  );
}
