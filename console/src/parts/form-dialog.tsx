import { type FormEvent, type ReactNode, useContext, useState } from 'react';
import { Dialog, DialogTrigger, Form, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { SessionContext } from '../live/session-state.ts';
import { problemOf } from '../live/use-live.ts';
import { Button } from './button.tsx';
import { Problem } from './feedback.tsx';

export interface FormDialogProps {
  /** What opens it. */
  readonly trigger: ReactNode;
  readonly title: string;
  readonly action: string;
  readonly danger?: boolean;
  readonly children: ReactNode;
  /** Does it; the dialog closes when this resolves, and says why when it does not. */
  readonly onSubmit: (form: FormData) => Promise<void>;
}

/** A question in front of the page, and the one thing that is done about it. */
export function FormDialog({ trigger, title, action, danger = false, children, onSubmit }: FormDialogProps) {
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [open, setOpen] = useState(false);
  // Whoever has to sign in must not have it in front of them.
  const { over } = useContext(SessionContext);
  const change = (opened: boolean) => {
    setOpen(opened);
    setProblem(undefined);
  };
  return (
    <DialogTrigger isOpen={open && !over} onOpenChange={change}>
      {trigger}
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="modal">
          <Dialog className="dialog">
            {({ close }) => {
              const submit = async (event: FormEvent<HTMLFormElement>) => {
                event.preventDefault();
                const form = new FormData(event.currentTarget);
                setBusy(true);
                try {
                  await onSubmit(form);
                  close();
                } catch (error) {
                  setProblem(problemOf(error));
                } finally {
                  setBusy(false);
                }
              };
              return (
                <Form onSubmit={(event) => void submit(event)}>
                  <Heading slot="title">{title}</Heading>
                  {children}
                  {problem === undefined ? null : <Problem words={problem} />}
                  <div className="actions">
                    <Button onPress={close}>Cancel</Button>
                    <Button type="submit" variant={danger ? 'danger' : 'primary'} isDisabled={busy}>
                      {busy ? 'One moment…' : action}
                    </Button>
                  </div>
                </Form>
              );
            }}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}
