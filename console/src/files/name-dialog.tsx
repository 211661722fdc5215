import { type FormEvent, type ReactNode, useContext, useState } from 'react';
import { Dialog, Form, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { SessionContext } from '../live/session-state.ts';
import { problemOf } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Problem } from '../parts/feedback.tsx';
import { TextInput } from '../parts/text-input.tsx';
import { nameProblem, shownName } from './shown-name.ts';

export interface NameDialogProps {
  readonly isOpen: boolean;
  readonly title: string;
  readonly action: string;
  readonly danger?: boolean;
  /** Asks for a name, which begins with this one. */
  readonly initial?: string;
  readonly children?: ReactNode;
  readonly onClose: () => void;
  /** Does it; the dialog closes when this resolves, and says why when it does not. */
  readonly onSubmit: (name: string) => Promise<void>;
}

/** A question about a file, opened from anywhere. */
export function NameDialog({ isOpen, onClose, ...props }: NameDialogProps) {
  // Whoever has to sign in must not have it in front of them.
  const { over } = useContext(SessionContext);
  return (
    <ModalOverlay
      className="overlay"
      isDismissable
      isOpen={isOpen && !over}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
    >
      <Modal className="modal">
        <Dialog className="dialog">
          <Question {...props} onClose={onClose} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function Question({
  title,
  action,
  danger = false,
  initial,
  children,
  onClose,
  onSubmit,
}: Omit<NameDialogProps, 'isOpen'>) {
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    // As it was typed: a name may begin and end with spaces.
    const typed = new FormData(event.currentTarget).get('name');
    setBusy(true);
    setProblem(undefined);
    try {
      await onSubmit(typeof typed === 'string' ? typed : '');
      onClose();
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Form onSubmit={(event) => void submit(event)}>
      <Heading slot="title">{shownName(title)}</Heading>
      {children}
      {initial === undefined ? null : (
        <TextInput
          label="Name"
          name="name"
          defaultValue={initial}
          autoFocus
          autoComplete="off"
          validate={(value) => nameProblem(value) ?? null}
        />
      )}
      {problem === undefined ? null : <Problem words={problem} />}
      <div className="actions">
        <Button onPress={onClose}>Cancel</Button>
        <Button type="submit" variant={danger ? 'danger' : 'primary'} isDisabled={busy}>
          {busy ? 'One moment…' : action}
        </Button>
      </div>
    </Form>
  );
}
