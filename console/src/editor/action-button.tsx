import { useState } from 'react';
import { ApiError } from '../api/client.ts';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { inputsFor, readInputs } from './inputs.ts';
import { InputsForm } from './inputs-form.tsx';
import type { OfferedAction } from './next-actions.ts';

export interface ActionButtonProps {
  readonly action: OfferedAction;
  readonly isDisabled: boolean;
  readonly isBusy: boolean;
  /** @throws what was wrong with the inputs, or spoke against it */
  readonly onAct: (inputs: unknown) => Promise<void>;
}

/** What may follow a run: at once, or after it has asked for what it needs. */
export function ActionButton({ action, isDisabled, isBusy, onAct }: ActionButtonProps) {
  const { title, inputs: asked, description } = action;
  const [inputs, setInputs] = useState(() => inputsFor(asked?.schema));
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  if (asked === undefined) {
    return (
      <Button isDisabled={isDisabled} onPress={() => void onAct({}).catch(() => undefined)}>
        {isBusy ? 'One moment…' : title}
      </Button>
    );
  }
  const submit = async () => {
    const read = readInputs(inputs, asked.fields);
    setProblems(read.problems ?? {});
    if (read.problems !== undefined) {
      throw new ApiError(422, 'invalid_inputs', 'Not all of it can be sent: see above.');
    }
    await onAct(read.value);
  };
  return (
    <FormDialog
      trigger={<Button isDisabled={isDisabled}>{isBusy ? 'One moment…' : `${title}…`}</Button>}
      title={title}
      action="Start it"
      onSubmit={submit}
    >
      {description === '' ? null : <p>{description}</p>}
      <InputsForm
        inputs={inputs}
        onChange={(next) => {
          // A form with a field that is marked as wrong cannot be sent.
          setProblems({});
          setInputs(next);
        }}
        fields={asked.fields}
        asJson={false}
        problems={problems}
      />
    </FormDialog>
  );
}
