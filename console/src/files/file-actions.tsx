import { useRef, useState } from 'react';
import { Button, Menu, MenuItem, MenuTrigger, Popover } from 'react-aria-components';
import { shownName } from './file-names.ts';
import { type Asked, FolderDialog } from './folder-dialog.tsx';

interface FileActionsProps {
  readonly sandboxId: string;
  readonly path: string;
  readonly onMoved: (from: string, to: string) => void;
  readonly onDeleted: () => void;
}

/** The menu of an open file. */
export function FileActions({ sandboxId, path, onMoved, onDeleted }: FileActionsProps) {
  const [what, setWhat] = useState<Asked['what']>();
  const button = useRef<HTMLButtonElement>(null);
  const at = path.lastIndexOf('/');
  const entry = { path, name: path.slice(at + 1), type: 'file' } as const;
  return (
    <>
      <MenuTrigger>
        <Button ref={button} className="button more" aria-label={`Actions for ${shownName(entry.name)}`}>
          ⋯
        </Button>
        <Popover className="popover">
          <Menu className="options" aria-label={`Actions for ${shownName(entry.name)}`}>
            <MenuItem onAction={() => setWhat('rename')}>Rename…</MenuItem>
            <MenuItem onAction={() => setWhat('move')}>Move…</MenuItem>
            <MenuItem onAction={() => setWhat('delete')}>Delete…</MenuItem>
          </Menu>
        </Popover>
      </MenuTrigger>
      <FolderDialog
        sandboxId={sandboxId}
        folder={path.slice(0, at)}
        asked={what === undefined ? undefined : { what, entry }}
        isTaken={() => false}
        onClose={() => {
          setWhat(undefined);
          // The menu that opened the dialog is gone.
          requestAnimationFrame(() => button.current?.focus());
        }}
        onDone={onDeleted}
        onMoved={onMoved}
      />
    </>
  );
}
