import { call } from '../api/client.ts';
import { Button } from '../parts/button.tsx';
import { useAttempt } from '../parts/use-attempt.ts';

/** Resumes a stopped sandbox. The next poll shows the result. */
export function ResumeButton({ sandboxId }: { readonly sandboxId: string }) {
  const { busy, problem, attempt } = useAttempt();
  const resume = () => call('POST /v1/sandbox/{id}/resume', { path: { id: sandboxId } });
  return (
    <>
      <Button isDisabled={busy} onPress={() => void attempt(resume)}>
        {busy ? 'One moment…' : 'Resume the sandbox'}
      </Button>
      {problem === undefined ? null : <span role="alert">{problem}</span>}
    </>
  );
}
