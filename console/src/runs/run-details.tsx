import { Link } from 'wouter';
import type { Answer } from '../api/client.ts';
import { useIsOnlyUser } from '../live/person.ts';
import { CopiedId } from '../parts/copy-text.tsx';
import { Ago, Fact } from '../parts/elements.tsx';
import { sandboxName } from '../sandboxes/sandbox-name.ts';
import { sharingWords } from './share-run.tsx';

interface RunDetailsProps {
  readonly run: Answer<'GET /api/runs/{id}'>;
  /** Undefined: not known yet, or deleted. */
  readonly sandbox: Answer<'GET /v1/sandbox/{id}'> | undefined;
}

/** The ids of a run, and what its title bar leaves out. */
export function RunDetails({ run, sandbox }: RunDetailsProps) {
  const isOnlyUser = useIsOnlyUser();
  const { run_id: id, sandbox_id: sandboxId } = run;
  return (
    <dl className="facts-list">
      <Fact name="Run">
        <CopiedId id={id} />
      </Fact>
      <Fact name="Sandbox">
        <Link href={`/sandboxes/${encodeURIComponent(sandboxId)}`}>
          {sandboxName(sandbox ?? { id: sandboxId })}
        </Link>
        <CopiedId id={sandboxId} />
      </Fact>
      <Fact name="State">{run.status}</Fact>
      <Fact name="Owner">{run.owner}</Fact>
      {isOnlyUser ? null : <Fact name="Organisation">{sharingWords(run.sharing)}</Fact>}
      <Fact name="Started">
        <Ago at={run.created_at} />
      </Fact>
      {run.completed_at === null ? null : (
        <Fact name="Completed">
          <Ago at={run.completed_at} />
        </Fact>
      )}
      <Fact name="Previews">{run.auto_approve_tools ? 'Open without a question' : 'Open once approved'}</Fact>
    </dl>
  );
}
