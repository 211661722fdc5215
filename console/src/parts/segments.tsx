import { Label, Radio, RadioGroup } from 'react-aria-components';

interface SegmentsProps<Id extends string> {
  readonly label: string;
  readonly value: Id;
  readonly onChange: (id: Id) => void;
  readonly options: readonly { readonly id: Id; readonly words: string }[];
}

/** A choice of two to four options that are all visible. */
export function Segments<Id extends string>({ label, value, onChange, options }: SegmentsProps<Id>) {
  const choose = (id: string) => {
    const chosen = options.find((each) => each.id === id);
    if (chosen !== undefined) onChange(chosen.id);
  };
  return (
    <RadioGroup className="field segments" value={value} onChange={choose} orientation="horizontal">
      <Label>{label}</Label>
      <div>
        {options.map(({ id, words }) => (
          <Radio key={id} value={id}>
            {words}
          </Radio>
        ))}
      </div>
    </RadioGroup>
  );
}
