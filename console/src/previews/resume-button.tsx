import { useState } from 'react';
import { call } from '../api/client.ts';
import { problemOf } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';

/** Resumes a stopped sandbox. What was resumed shows by itself with the next look. */
export function ResumeButton({ sandboxId }: { readonly sandboxId: string }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const resume = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      await call('POST /v1/sandbox/{id}/resume', { path: { id: sandboxId } });
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button isDisabled={busy} onPress={() => void resume()}>
        {busy ? 'One moment…' : 'Resume the sandbox'}
      </Button>
      {problem === undefined ? null : <span role="alert">{problem}</span>}
    </>
  );
}
