import { Link, useLocation } from 'wouter';
import { call } from '../api/client.ts';
import { timeAgo } from '../live/time-words.ts';
import { useAnswer, useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Choice } from '../parts/choice.tsx';
import { Empty, Loading, Problem } from '../parts/feedback.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { formText } from '../parts/form-text.ts';
import { TextInput } from '../parts/text-input.tsx';

const FIRST_CODE = {
  python: 'def run(inputs, context):\n    return {"outputs": {"hello": inputs.get("name", "world")}}\n',
  node: "export function run(inputs, context) {\n  return { outputs: { hello: inputs.name ?? 'world' } };\n}\n",
} as const;

/** One's tools of the editor. */
export default function ToolsPage() {
  const { value, problem, reload } = useAnswer('GET /api/v1/editor/tools', { query: { limit: 200 } }, 10_000);
  const now = useNow();
  return (
    <>
      <div className="page-head">
        <h1>Tools</h1>
        <NewTool />
      </div>
      {problem === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {value === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : value.tools.length === 0 ? (
        <Empty title="No tools yet">
          <p>A tool is a piece of code with a form: edited here, and run in a sandbox before it is saved.</p>
        </Empty>
      ) : (
        <table className="list">
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col" className="wide">
                Owner
              </th>
              <th scope="col">Made</th>
            </tr>
          </thead>
          <tbody>
            {value.tools.map(({ tool_id: id, name, owner, created_at: at }) => (
              <tr key={id}>
                <td>
                  <Link href={`/tools/${encodeURIComponent(id)}`}>{name}</Link>
                  <span className="id">{id}</span>
                </td>
                <td className="wide">{owner}</td>
                <td>
                  <time dateTime={at}>{timeAgo(now - Date.parse(at))}</time>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function NewTool() {
  const [, navigate] = useLocation();
  return (
    <FormDialog
      trigger={<Button variant="primary">New tool</Button>}
      title="New tool"
      action="Create it"
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
      <TextInput label="Name" name="name" isRequired maxLength={100} />
      <Choice
        label="Language"
        name="language"
        initial="python"
        options={[
          { id: 'python', words: 'Python' },
          { id: 'node', words: 'Node.js' },
        ]}
      />
    </FormDialog>
  );
}
