import { Empty, Loading } from '../parts/feedback.tsx';
import { ResumeButton } from '../previews/resume-button.tsx';

interface AwayProps {
  readonly sandboxId: string;
  /** Undefined: not known yet. */
  readonly state: string | undefined;
}

/** In place of what only a running sandbox has. */
export function Away({ sandboxId, state }: AwayProps) {
  if (state === undefined) return <Loading />;
  if (state === 'deleted') return <Empty title="The sandbox was deleted, and its files with it" />;
  return (
    <Empty title={`The sandbox is ${state}`}>
      {state === 'stopped' ? (
        <>
          <p>Its files are kept.</p>
          <ResumeButton sandboxId={sandboxId} />
        </>
      ) : (
        <p>This pane fills once it runs.</p>
      )}
    </Empty>
  );
}
