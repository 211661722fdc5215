import { type FormEvent, type ReactNode, useContext, useState } from 'react';
import { Dialog, DialogTrigger, Form, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { SessionContext } from '../live/session-state.ts';
import { Button } from './button.tsx';
import { Problem } from './feedback.tsx';
import { useAttempt } from './use-attempt.ts';

export interface DialogFormProps {
  readonly title: string;
  readonly action: string;
  readonly danger?: boolean;
  readonly children?: ReactNode;
  readonly onClose: () => void;
  /**
   * Performs the action; the dialog closes when this resolves, and shows the error when it rejects.
   */
  readonly onSubmit: (form: FormData) => Promise<void>;
}

/** Content and buttons of a dialog with one action. */
export function DialogForm({ title, action, danger = false, children, onClose, onSubmit }: DialogFormProps) {
  const { busy, problem, attempt } = useAttempt();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    void attempt(async () => {
      await onSubmit(form);
      onClose();
    });
  };
  return (
    <Form onSubmit={submit}>
      <Heading slot="title">{title}</Heading>
      {children}
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

interface FormDialogProps extends Omit<DialogFormProps, 'onClose'> {
  /** The element that opens it. */
  readonly trigger: ReactNode;
}

/** A modal dialog with one action. */
export function FormDialog({ trigger, ...form }: FormDialogProps) {
  const [open, setOpen] = useState(false);
  // The dialog must not cover the sign-in.
  const { over } = useContext(SessionContext);
  return (
    <DialogTrigger isOpen={open && !over} onOpenChange={setOpen}>
      {trigger}
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="modal">
          <Dialog className="dialog">{({ close }) => <DialogForm {...form} onClose={close} />}</Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}
