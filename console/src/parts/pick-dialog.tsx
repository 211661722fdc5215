import { type ReactNode, useMemo, useState } from 'react';
import { Autocomplete, Input, Menu, MenuItem, TextField } from 'react-aria-components';
import { ModalDialog } from './dialog-form.tsx';

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
  return (
    <ModalDialog aria-label={title} overlay="picks" dialog="pick-dialog" onClose={onClose}>
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
    </ModalDialog>
  );
}
