import type { ReactNode } from 'react';
import { FormDialog } from './dialog-form.tsx';
import { Button } from './elements.tsx';

interface RevokeButtonProps {
  /** @default Revoke */
  readonly verb?: string;
  readonly name: string;
  readonly action: string;
  readonly onRevoke: () => Promise<unknown>;
  /** What it ends. */
  readonly children: ReactNode;
}

/** Revokes a key, a link or a delegation, or deletes a webhook, after a question. */
export function RevokeButton({ verb = 'Revoke', name, action, onRevoke, children }: RevokeButtonProps) {
  const title = `${verb} ${name}`;
  return (
    <FormDialog
      trigger={
        <Button variant="danger" aria-label={title}>
          {verb}
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
