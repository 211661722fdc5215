import { Button, Label, ListBox, ListBoxItem, Popover, Select, SelectValue } from 'react-aria-components';

export interface ChoiceProps {
  readonly label: string;
  readonly name?: string;
  readonly value?: string;
  readonly initial?: string;
  readonly onChange?: (value: string) => void;
  readonly isDisabled?: boolean;
  readonly options: readonly { readonly id: string; readonly words: string }[];
}

/** One of a few. */
export function Choice({ label, name, value, initial, onChange, isDisabled = false, options }: ChoiceProps) {
  return (
    <Select
      className="field"
      isDisabled={isDisabled}
      {...(name === undefined ? {} : { name })}
      {...(value === undefined ? {} : { value })}
      {...(initial === undefined ? {} : { defaultValue: initial })}
      {...(onChange === undefined ? {} : { onChange: (key) => onChange(String(key)) })}
    >
      <Label>{label}</Label>
      <Button className="button select">
        <SelectValue />
        <span aria-hidden="true">▾</span>
      </Button>
      <Popover className="popover">
        <ListBox className="options">
          {options.map(({ id, words }) => (
            <ListBoxItem key={id} id={id}>
              {words}
            </ListBoxItem>
          ))}
        </ListBox>
      </Popover>
    </Select>
  );
}
