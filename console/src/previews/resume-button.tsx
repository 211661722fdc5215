import { call } from '../api/client.ts';
import { usePageRights } from '../live/page-rights.ts';
import { Button } from '../parts/elements.tsx';
import { useAttempt } from '../live/use-live.ts';

/** Resumes a stopped sandbox, or says who can. The next poll shows the result. */
export function ResumeButton({ sandboxId }: { readonly sandboxId: string }) {
  const { busy, problem, attempt } = useAttempt();
  const { canWork, why } = usePageRights();
  const resume = () => call('POST /v1/sandbox/{id}/resume', { path: { id: sandboxId } });
  if (!canWork) return <p className="quiet">{why}</p>;
  return (
    <>
      <Button isDisabled={busy} onPress={() => void attempt(resume)}>
        {busy ? 'One moment…' : 'Resume the sandbox'}
      </Button>
      {problem === undefined ? null : <span role="alert">{problem}</span>}
    </>
  );
}
