import { Check, Choice, TextInput } from '../parts/elements.tsx';
import { fieldText, type Inputs, valuesOf, withField } from './tool-inputs.ts';
import type { FormField } from './schema-form.ts';

interface InputsFormProps {
  readonly inputs: Inputs;
  readonly onChange: (inputs: Inputs) => void;
  /** The fields of the schema; undefined: no form possible. */
  readonly fields: readonly FormField[] | undefined;
  readonly asJson: boolean;
  /** By field name; problems of the whole form are under `''`. */
  readonly problems: Readonly<Record<string, string>>;
}

/** The inputs of a run: one control per field, or JSON. */
export function InputsForm({ inputs, onChange, fields, asJson, problems }: InputsFormProps) {
  const values = valuesOf(inputs);
  if (asJson || fields === undefined || values === undefined) {
    const words = Object.entries(problems).map(([name, problem]) =>
      name === '' ? problem : `${name}: ${problem}`,
    );
    return (
      <TextInput
        label="Inputs, as JSON"
        value={inputs.text}
        rows={6}
        autoComplete="off"
        problem={words.length === 0 ? undefined : words.join(' ')}
        onChange={(text) => onChange({ text, raw: {} })}
      />
    );
  }
  const known = new Set(fields.map(({ name }) => name));
  const others = Object.keys(values).filter((name) => !known.has(name));
  return (
    <div className="input-fields">
      {fields.map((field) => (
        <InputField
          key={field.name}
          field={field}
          text={fieldText(inputs, field)}
          value={values[field.name]}
          problem={problems[field.name]}
          onChange={(text) => onChange(withField(inputs, field, text))}
        />
      ))}
      {others.length === 0 ? null : (
        <p className="hint">And, as JSON: {others.map((name) => JSON.stringify(name)).join(', ')}</p>
      )}
      {Object.entries(problems)
        .filter(([name]) => !known.has(name))
        .map(([name, problem]) => (
          <p key={name} className="field-error" role="alert">
            {name === '' ? problem : `${name}: ${problem}`}
          </p>
        ))}
    </div>
  );
}

interface InputFieldProps {
  readonly field: FormField;
  readonly text: string;
  readonly value: unknown;
  readonly problem: string | undefined;
  readonly onChange: (text: string) => void;
}

function InputField(props: InputFieldProps) {
  const { field, text, problem, onChange } = props;
  const { kind, hint } = field;
  if (kind === 'boolean') return <YesOrNo {...props} />;
  if (kind === 'choice') return <OneOf {...props} />;
  return (
    <TextInput
      label={kind === 'json' ? `${labelOf(field)}, as JSON` : labelOf(field)}
      value={text}
      rows={kind === 'json' ? 3 : kind === 'long-text' ? 5 : 1}
      autoComplete="off"
      {...(kind === 'number' && { inputMode: 'decimal' })}
      problem={problem}
      hint={hint}
      onChange={onChange}
    />
  );
}

function labelOf({ title, required }: FormField): string {
  return required ? `${title} (required)` : title;
}

function YesOrNo({ field, value, problem, onChange }: InputFieldProps) {
  return (
    <div className="field">
      <Check isSelected={value === true} onChange={(isOn) => onChange(isOn ? 'true' : 'false')}>
        {labelOf(field)}
      </Check>
      <Below field={field} problem={problem} />
    </div>
  );
}

/** Marks an omitted field; not valid JSON. */
const LEFT_OUT = 'left out';

function OneOf({ field, value, problem, onChange }: InputFieldProps) {
  const options = field.options.map((option) => ({
    id: JSON.stringify(option),
    words: typeof option === 'string' ? option : JSON.stringify(option),
  }));
  return (
    <div className="field">
      <Choice
        label={labelOf(field)}
        value={value === undefined ? LEFT_OUT : JSON.stringify(value)}
        onChange={(id) => onChange(id === LEFT_OUT ? '' : id)}
        options={field.required ? options : [{ id: LEFT_OUT, words: 'Left out' }, ...options]}
      />
      <Below field={field} problem={problem} />
    </div>
  );
}

function Below({ field: { hint }, problem }: Pick<InputFieldProps, 'field' | 'problem'>) {
  return (
    <>
      {hint === '' ? null : <p className="hint">{hint}</p>}
      {problem === undefined ? null : <p className="field-error">{problem}</p>}
    </>
  );
}
