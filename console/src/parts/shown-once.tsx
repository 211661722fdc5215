import type { ReactNode } from 'react';
import { Heading } from 'react-aria-components';
import { plainText } from '../../../base/plain-text.ts';
import { CopyButton } from './copy-text.tsx';
import { ModalDialog } from './dialog-form.tsx';
import { Button } from './elements.tsx';

interface ShownOnceProps {
  readonly what: 'key' | 'link' | 'secret';
  /** Name that its maker gave it. */
  readonly name: string;
  readonly secret: string;
  readonly onClose: () => void;
  /** What to do with it. */
  readonly children: ReactNode;
}

/** A secret that is not stored anywhere. A press on the page behind must not lose it. */
export function ShownOnce({ what, name, secret, onClose, children }: ShownOnceProps) {
  return (
    <ModalDialog onClose={onClose} isDismissable={false}>
      <Heading slot="title">Copy the {what} now</Heading>
      <p>
        This is the only time that Porthole shows the {what} <bdi>{plainText(name, 100)}</bdi>.
      </p>
      <pre className="secret" tabIndex={0} role="group" aria-label={`The ${what}`}>
        {secret}
      </pre>
      {children}
      <div className="actions">
        <Button onPress={onClose}>Done</Button>
        <CopyButton text={secret} words={`Copy ${what}`} variant="primary" />
      </div>
    </ModalDialog>
  );
}
