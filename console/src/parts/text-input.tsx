import { FieldError, Input, Label, Text, TextField, type TextFieldProps } from 'react-aria-components';

export interface TextInputProps extends TextFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
}

/**
 * What was refused is judged with each key, and not when the focus goes: the words about it would go then, and what stands below them would move from under a press.
 */
export function validateAgain({ currentTarget }: { readonly currentTarget: HTMLElement }): void {
  if (currentTarget.closest('[data-invalid]') !== null) currentTarget.dispatchEvent(new Event('change'));
}

export function TextInput({ label, hint, placeholder, ...props }: TextInputProps) {
  return (
    <TextField {...props} className="field">
      <Label>{label}</Label>
      <Input {...(placeholder === undefined ? {} : { placeholder })} onInput={validateAgain} />
      {hint === undefined ? null : (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="field-error" />
    </TextField>
  );
}
