import { memo, useEffect, useState } from 'react';
import { Link } from 'wouter';
import { Button } from '../parts/button.tsx';
import { Choice, TextInput } from '../parts/controls.tsx';
import { Empty, Loading, Problem, State } from '../parts/feedback.tsx';
import { Ago } from '../sandboxes/ago.tsx';
import { NewSandbox } from '../sandboxes/new-sandbox.tsx';
import { QuotaBar } from '../sandboxes/quota-bar.tsx';
import { SandboxActions } from '../sandboxes/sandbox-actions.tsx';
import { isName, isSessionKey, isTagFilter } from '../sandboxes/sandbox-fields.ts';
import '../sandboxes/sandboxes.css';
import { usePlace } from '../sandboxes/use-place.ts';
import { type Sandbox, useSandboxes } from '../sandboxes/use-sandboxes.ts';

const STATES = [
  { id: 'any', words: 'Any state' },
  { id: 'running', words: 'Running' },
  { id: 'stopped', words: 'Stopped' },
  { id: 'creating', words: 'Creating' },
] as const;
const PAGE = 50;
const MORE = 200;
/** Debounce of typing, in milliseconds. */
const PAUSE_MS = 300;

const FIELDS = [
  {
    name: 'name',
    label: 'Name',
    placeholder: 'the whole name',
    isGood: isName,
    problem: 'Letters, digits, “_”, “.” and “-”.',
  },
  {
    name: 'tag',
    label: 'Tag',
    placeholder: 'key:value',
    isGood: isTagFilter,
    problem: 'A tag is key:value.',
  },
  {
    name: 'session_key',
    label: 'Session key',
    placeholder: 'the whole key',
    isGood: isSessionKey,
    problem: 'At most 256 characters.',
  },
] as const;

/** The user's sandboxes, newest first. The filter is in the address. */
export function SandboxesPage() {
  const [place, go] = usePlace();
  const [wanted, setWanted] = useState(PAGE);
  const state = STATES.find(({ id }) => id === place.get('state'))?.id ?? 'any';
  const filter = {
    ...(state === 'any' ? {} : { state }),
    ...Object.fromEntries(
      FIELDS.map(({ name, isGood }) => [name, place.get(name) ?? '', isGood] as const).flatMap(
        ([name, value, isGood]) => (value !== '' && isGood(value) ? [[name, value]] : []),
      ),
    ),
  };
  const isFiltered = Object.keys(filter).length > 0;
  const { sandboxes, hasMore, problem, reload } = useSandboxes(filter, wanted);
  return (
    <>
      <div className="page-head">
        <h1>Sandboxes</h1>
        <NewSandbox onMade={reload} />
      </div>
      <QuotaBar seen={(sandboxes ?? []).map(({ id, state: each }) => id.slice(0, 4) + each).join()} />
      <div className="filters" role="search" aria-label="Filter sandboxes">
        <Choice
          label="State"
          value={state}
          onChange={(id) => go({ state: id === 'any' ? undefined : id })}
          options={STATES}
        />
        {FIELDS.map(({ name, ...field }) => (
          <FilterInput
            key={name}
            {...field}
            value={place.get(name) ?? ''}
            onChange={(value) => go({ [name]: value })}
          />
        ))}
      </div>
      {problem === undefined ? null : <Problem words={problem} onRetry={reload} />}
      {sandboxes === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : sandboxes.length === 0 ? (
        <Empty title={isFiltered ? 'None of these' : 'No sandboxes yet'}>
          {isFiltered ? (
            <Button
              onPress={() =>
                go({ state: undefined, name: undefined, tag: undefined, session_key: undefined })
              }
            >
              Show all
            </Button>
          ) : (
            <p>A sandbox is an isolated machine for an agent, with files, commands and terminals.</p>
          )}
        </Empty>
      ) : (
        <>
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
              {sandboxes.map((sandbox) => (
                <Row key={sandbox.id} sandbox={sandbox} onChange={reload} />
              ))}
            </tbody>
          </table>
          <p className="quiet" role="status">
            {hasMore ? `The newest ${sandboxes.length.toLocaleString()} are shown.` : ''}
          </p>
          {hasMore ? <Button onPress={() => setWanted((before) => before + MORE)}>Show more</Button> : null}
        </>
      )}
    </>
  );
}

interface FilterInputProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly isGood: (value: string) => boolean;
  readonly problem: string;
  readonly onChange: (value: string) => void;
}

function FilterInput({ value, isGood, problem, onChange, ...props }: FilterInputProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onChange(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const isBad = text !== '' && !isGood(text);
  return (
    <TextInput
      {...props}
      value={text}
      onChange={setText}
      autoComplete="off"
      isInvalid={isBad}
      {...(isBad ? { hint: problem } : {})}
    />
  );
}

interface RowProps {
  readonly sandbox: Sandbox;
  readonly onChange: () => void;
}

/** Re-rendered only when its sandbox changes: there may be many hundreds. */
const Row = memo(
  ({ sandbox, onChange }: RowProps) => {
    const { id, name, session_key: session, tags, state, expires_at: expires } = sandbox;
    return (
      <tr>
        <td>
          <Link href={`/sandboxes/${encodeURIComponent(id)}`}>{name ?? session ?? id}</Link>
          <span className="id">
            {name === null && session === null ? '' : id}
            {Object.entries(tags).map(([key, each]) => (
              <span className="tag" key={key}>
                {key}:{each}
              </span>
            ))}
          </span>
        </td>
        <td>
          <State value={state} />
        </td>
        <td className="wide">{sandbox.image ?? 'default'}</td>
        <td className="wide">
          <Ago at={sandbox.last_active_at} />
          {expires === null ? null : (
            <span className="expires quiet">
              stops at <time dateTime={expires}>{new Date(expires).toLocaleTimeString()}</time>
            </span>
          )}
        </td>
        <td>
          <SandboxActions sandbox={sandbox} onChange={onChange} />
        </td>
      </tr>
    );
  },
  (before, after) => JSON.stringify(before.sandbox) === JSON.stringify(after.sandbox),
);
Row.displayName = 'Row';
