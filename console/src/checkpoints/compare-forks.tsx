import { useState } from 'react';
import { Heading } from 'react-aria-components';
import { useAnswer } from '../live/use-live.ts';
import { useIsOn } from '../live/person.ts';
import { Button, Choice, formText, Pending, TextInput } from '../parts/elements.tsx';
import { CompareFiles } from './compare-files.tsx';
import { ComparePages } from './compare-pages.tsx';

/** The page that a fork is compared with at first. */
const PRESENT = '';

interface CompareForksProps {
  /** Of the present. */
  readonly sandboxId: string;
  /** Runs of the other forks, with their names. */
  readonly others: readonly { readonly runId: string; readonly name: string }[];
  readonly fork: { readonly id: string; readonly name: string };
  /** The port that its page shows; undefined without a live preview. */
  readonly port: number | undefined;
  readonly onClose: () => void;
}

/** What differs between a fork and the present, or another fork. */
export function CompareForks({ sandboxId, others, fork, port, onClose }: CompareForksProps) {
  const [base, setBase] = useState(PRESENT);
  const [page, setPage] = useState({ path: '/', asked: 0 });
  const isOn = useIsOn();
  const run = useAnswer('GET /api/runs/{id}', base === PRESENT ? null : { path: { id: base } });
  const asked = run.value?.run_id === base ? run.value.sandbox_id : undefined;
  const id = base === PRESENT ? sandboxId : asked;
  const name = others.find(({ runId }) => runId === base)?.name ?? 'The present';
  const compared = id === undefined ? undefined : { one: { id, name }, other: fork };
  const hasPage = port !== undefined && isOn('pages');
  return (
    <div className="compare-forks stack">
      <div className="section-head">
        <Heading slot="title">Compare {fork.name}</Heading>
        <Button onPress={onClose}>Close</Button>
      </div>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const path = formText(new FormData(event.currentTarget), 'path') || '/';
          setPage(({ asked }) => ({ path, asked: asked + 1 }));
        }}
      >
        <Choice
          label="With"
          value={base}
          onChange={setBase}
          options={[
            { id: PRESENT, words: 'The present' },
            ...others.map(({ runId, name: words }) => ({ id: runId, words })),
          ]}
        />
        {hasPage ? <TextInput label={`Page of port ${port}`} name="path" defaultValue="/" /> : null}
        <Button type="submit">Compare again</Button>
      </form>
      {compared === undefined ? (
        <Pending words={run.problem} onRetry={run.reload} />
      ) : (
        <>
          {hasPage ? (
            <ComparePages key={`${id} ${page.asked}`} {...compared} port={port} path={page.path} />
          ) : null}
          <CompareFiles key={`${id} ${page.asked} files`} {...compared} />
        </>
      )}
    </div>
  );
}
