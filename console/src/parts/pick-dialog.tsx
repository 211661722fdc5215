import { type ReactNode, useContext, useMemo, useState } from 'react';
import {
  Autocomplete,
  Dialog,
  Input,
  Menu,
  MenuItem,
  Modal,
  ModalOverlay,
  TextField,
} from 'react-aria-components';
import { SessionContext } from '../live/session-state.ts';

export interface Pick {
  readonly id: string;
  readonly words: string;
  /** Shown at the end of the row: a folder, or a key. */
  readonly note?: string;
}

export interface PickDialogProps {
  readonly title: string;
  readonly placeholder: string;
  /** The rows for a typed text, best first. */
  readonly find: (text: string) => readonly Pick[];
  readonly onPick: (id: string) => void;
  readonly onClose: () => void;
  /** Below the rows. */
  readonly children?: ReactNode;
}

/** A list in front of the page that is filtered by typing, and closes after a choice. */
export default function PickDialog({ title, placeholder, find, onPick, onClose, children }: PickDialogProps) {
  const [text, setText] = useState('');
  const rows = useMemo(() => find(text), [find, text]);
  // The dialog must not cover the sign-in.
  const { over } = useContext(SessionContext);
  return (
    <ModalOverlay
      className="overlay picks"
      isDismissable
      isOpen={!over}
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose();
      }}
    >
      <Modal className="modal">
        <Dialog aria-label={title} className="pick-dialog">
          <Autocomplete inputValue={text} onInputChange={setText}>
            <TextField aria-label={title} autoFocus className="field">
              <Input placeholder={placeholder} />
            </TextField>
            <Menu
              className="options"
              aria-label={title}
              items={rows}
              renderEmptyState={() => <p className="quiet">Nothing matches “{text}”.</p>}
              onAction={(id) => {
                onClose();
                onPick(String(id));
              }}
            >
              {({ id, words, note }) => (
                <MenuItem id={id} textValue={words}>
                  <bdi>{words}</bdi>
                  {note === undefined ? null : <span className="quiet">{note}</span>}
                </MenuItem>
              )}
            </Menu>
          </Autocomplete>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
