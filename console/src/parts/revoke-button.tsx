import type { ReactNode } from 'react';
import { FormDialog } from './dialog-form.tsx';
import { Button } from './elements.tsx';

interface RevokeButtonProps {
  readonly name: string;
  readonly action: string;
  readonly onRevoke: () => Promise<unknown>;
  /** What it ends. */
  readonly children: ReactNode;
}

/** Revokes a key, a link or a delegation, after a question. */
export function RevokeButton({ name, action, onRevoke, children }: RevokeButtonProps) {
  const title = `Revoke ${name}`;
  return (
    <FormDialog
      trigger={
        <Button variant="danger" aria-label={title}>
          Revoke
        </Button>
      }
      title={`${title}?`}
      action={action}
      danger
      onSubmit={async () => {
        await onRevoke();
      }}
    >
      <p>{children}</p>
    </FormDialog>
  );
}
