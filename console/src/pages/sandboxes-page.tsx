import { useState } from 'react';
import { Link } from 'wouter';
import { timeAgo } from '../live/time-words.ts';
import { useAnswer, useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Choice } from '../parts/choice.tsx';
import { Empty, Loading, Problem, State } from '../parts/feedback.tsx';
import { TextInput } from '../parts/text-input.tsx';
import { NewSandbox } from '../sandboxes/new-sandbox.tsx';
import { SandboxActions } from '../sandboxes/sandbox-actions.tsx';
import { QuotaBar } from '../sandboxes/quota-bar.tsx';

type StateFilter = 'creating' | 'running' | 'stopped';

const STATES = [
  { id: 'any', words: 'Any state' },
  { id: 'running', words: 'Running' },
  { id: 'stopped', words: 'Stopped' },
  { id: 'creating', words: 'Creating' },
];
const PAGE = 50;
const TAG = /^[^:]+:.+$/;

/** One's sandboxes, newest first. */
export function SandboxesPage() {
  const [state, setState] = useState('any');
  const [tag, setTag] = useState('');
  const [limit, setLimit] = useState(PAGE);
  const query = {
    limit,
    ...(state === 'any' ? {} : { state: state as StateFilter }),
    ...(TAG.test(tag) ? { tag } : {}),
  };
  const { value, problem, reload } = useAnswer('GET /v1/sandbox', { query }, 5_000);
  const now = useNow();
  return (
    <>
      <div className="page-head">
        <h1>Sandboxes</h1>
        <NewSandbox onMade={reload} />
      </div>
      <QuotaBar seen={String(value?.sandboxes.length ?? '')} />
      <div className="filters" role="search" aria-label="Filter sandboxes">
        <Choice label="State" value={state} onChange={setState} options={STATES} />
        <TextInput label="Tag" placeholder="key:value" value={tag} onChange={setTag} />
      </div>
      {problem === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {value === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : value.sandboxes.length === 0 ? (
        <Empty title={state === 'any' && tag === '' ? 'No sandboxes yet' : 'None of these'}>
          <p>A sandbox is a machine of its own for an agent’s work, with files, commands and terminals.</p>
        </Empty>
      ) : (
        <table className="list">
          <thead>
            <tr>
              <th scope="col">Sandbox</th>
              <th scope="col">State</th>
              <th scope="col" className="wide">
                Image
              </th>
              <th scope="col" className="wide">
                Active
              </th>
              <th scope="col">
                <span className="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {value.sandboxes.map((sandbox) => (
              <tr key={sandbox.id}>
                <td>
                  <Link href={`/sandboxes/${encodeURIComponent(sandbox.id)}`}>
                    {sandbox.name ?? sandbox.session_key ?? sandbox.id}
                  </Link>
                  <span className="id">
                    {sandbox.name === null && sandbox.session_key === null ? '' : sandbox.id}
                    {Object.entries(sandbox.tags).map(([key, each]) => (
                      <span className="tag" key={key}>
                        {key}:{each}
                      </span>
                    ))}
                  </span>
                </td>
                <td>
                  <State value={sandbox.state} />
                </td>
                <td className="wide">{sandbox.image ?? 'default'}</td>
                <td className="wide">
                  <time dateTime={sandbox.last_active_at}>
                    {timeAgo(now - Date.parse(sandbox.last_active_at))}
                  </time>
                </td>
                <td>
                  <SandboxActions sandbox={sandbox} onChange={reload} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {value !== undefined && value.next !== null && limit < 200 ? (
        <Button onPress={() => setLimit((before) => Math.min(before + PAGE, 200))}>Show more</Button>
      ) : null}
    </>
  );
}
