import { FieldError, Input, Label, Text, TextField, type TextFieldProps } from 'react-aria-components';

export interface TextInputProps extends TextFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
}

export function TextInput({ label, hint, placeholder, ...props }: TextInputProps) {
  return (
    <TextField {...props} className="field">
      <Label>{label}</Label>
      <Input {...(placeholder === undefined ? {} : { placeholder })} />
      {hint === undefined ? null : (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="field-error" />
    </TextField>
  );
}
