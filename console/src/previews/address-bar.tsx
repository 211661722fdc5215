import { useEffect, useId, useState } from 'react';
import { Button, Icon } from '../parts/elements.tsx';
import { currentPath, type FrameHistory, moveInHistory, openPath, readPath } from './frame-history.ts';

export interface AddressBarProps {
  readonly port: number;
  readonly url: string;
  readonly history: FrameHistory;
  /** Opens the current path of the history; the same history reloads it. */
  readonly onOpen: (history: FrameHistory) => void;
}

/** Back, forward, reload and the path of a preview. */
export function AddressBar({ port, url, history, onOpen }: AddressBarProps) {
  const path = currentPath(history);
  const [text, setText] = useState(path);
  const [isRefused, setIsRefused] = useState(false);
  const hint = useId();
  useEffect(() => {
    setText(path);
    setIsRefused(false);
  }, [path, history]);
  return (
    <form
      className="address-bar"
      onSubmit={(event) => {
        event.preventDefault();
        const read = readPath(text, url);
        setIsRefused(read === undefined);
        if (read === undefined) return;
        setText(read);
        onOpen(read === path ? { ...history } : openPath(history, read));
      }}
    >
      <Button
        aria-label="Back"
        isDisabled={history.at === 0}
        onPress={() => onOpen(moveInHistory(history, -1))}
      >
        <Icon name="back" />
      </Button>
      <Button
        aria-label="Forward"
        isDisabled={history.at === history.paths.length - 1}
        onPress={() => onOpen(moveInHistory(history, 1))}
      >
        <Icon name="forward" />
      </Button>
      <Button aria-label="Reload" onPress={() => onOpen({ ...history })}>
        <Icon name="reload" />
      </Button>
      <span className="address-field">
        <input
          aria-label={`Path on port ${port}`}
          aria-describedby={hint}
          aria-invalid={isRefused}
          value={text}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setText(event.currentTarget.value)}
          onFocus={(event) => event.currentTarget.select()}
        />
        <span id={hint} className={isRefused ? 'address-hint bad' : 'address-hint'}>
          {isRefused
            ? `“${text}” is not on this preview. Type a path, such as /pricing.`
            : 'Back and forward cover the paths opened here. The browser hides links followed inside the app.'}
        </span>
      </span>
    </form>
  );
}
