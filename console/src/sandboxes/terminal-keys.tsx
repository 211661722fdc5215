import { ToggleButton } from 'react-aria-components';
import { Button } from '../parts/button.tsx';

const KEYS = [
  { name: 'Esc', sends: '\x1b' },
  { name: 'Tab', sends: '\t' },
  { name: '↑', label: 'Up', sends: '\x1b[A' },
  { name: '↓', label: 'Down', sends: '\x1b[B' },
  { name: '←', label: 'Left', sends: '\x1b[D' },
  { name: '→', label: 'Right', sends: '\x1b[C' },
] as const;

export interface TerminalKeysProps {
  /** Whether Ctrl applies to the next letter. */
  readonly isControl: boolean;
  readonly onControl: (isControl: boolean) => void;
  readonly onKey: (sends: string) => void;
}

/** Keys that a phone's keyboard lacks. */
export function TerminalKeys({ isControl, onControl, onKey }: TerminalKeysProps) {
  return (
    <div className="terminal-keys" role="group" aria-label="Keys">
      <ToggleButton className="button" isSelected={isControl} onChange={onControl}>
        Ctrl
      </ToggleButton>
      {KEYS.map(({ name, sends, ...key }) => (
        <Button key={name} aria-label={'label' in key ? key.label : name} onPress={() => onKey(sends)}>
          {name}
        </Button>
      ))}
    </div>
  );
}
