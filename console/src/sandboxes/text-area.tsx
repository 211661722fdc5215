import { FieldError, Label, Text, TextArea as AriaTextArea, TextField } from 'react-aria-components';

export interface TextAreaProps {
  readonly label: string;
  readonly name: string;
  readonly rows: number;
  readonly hint: string;
}

export function TextArea({ label, name, rows, hint }: TextAreaProps) {
  return (
    <TextField name={name} className="field">
      <Label>{label}</Label>
      <AriaTextArea rows={rows} spellCheck={false} autoComplete="off" />
      <Text slot="description" className="hint">
        {hint}
      </Text>
      <FieldError className="field-error" />
    </TextField>
  );
}
