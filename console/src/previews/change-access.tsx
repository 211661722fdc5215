import { useState } from 'react';
import { Label, Radio, RadioGroup } from 'react-aria-components';
import { type Answer, call } from '../api/client.ts';
import { FormDialog } from '../parts/dialog-form.tsx';
import { Button, formText, TextInput } from '../parts/elements.tsx';
import { type Level, levelOptions, LEVELS } from './access-labels.ts';

interface ChangeAccessProps {
  readonly token: string;
  readonly access: Answer<'GET /v1/previews/{id}/access'>;
  readonly onChange: () => void;
}

/** Chooses who may open a preview. */
export function ChangeAccess({ token, access, onChange }: ChangeAccessProps) {
  const [level, setLevel] = useState<Level>(access.level);
  return (
    <FormDialog
      trigger={
        <Button aria-label="Change who can see the app" onPress={() => setLevel(access.level)}>
          Change
        </Button>
      }
      title="Who can see the app"
      action="Save"
      onSubmit={async (form) => {
        const password = level === 'password' ? { password: passwordIn(form) } : {};
        // At the level link a name has no effect, and is kept.
        const name = level === 'link' ? {} : { name: formText(form, 'name') || null };
        const body = { level, ...password, ...name };
        await call('PUT /v1/previews/{id}/access', { path: { id: token }, body });
        onChange();
      }}
    >
      <RadioGroup
        className="field levels"
        value={level}
        onChange={(id) => setLevel(LEVELS.find((each) => each.id === id)?.id ?? 'owner')}
      >
        <Label className="hidden">Who can see the app</Label>
        {levelOptions(access.maximum).map(({ id, words, who, refusal }) => (
          <Radio key={id} value={id} className="check" isDisabled={refusal !== undefined}>
            <span className="box" aria-hidden="true" />
            <span>
              {words} <span className="quiet">{refusal ?? who}</span>
            </span>
          </Radio>
        ))}
      </RadioGroup>
      {level === 'password' ? (
        <NewPassword isRequired hint="At least 8 characters. Send it to them." />
      ) : null}
      {level === 'link' ? null : (
        <TextInput
          label="Name"
          name="name"
          defaultValue={access.name ?? ''}
          maxLength={26}
          autoComplete="off"
          hint="Optional, such as shop-demo: the app then has an address that people can read."
        />
      )}
      <p className="quiet">Visitors who are in the app now have to open it again.</p>
    </FormDialog>
  );
}

/** As it was typed: spaces count. */
export function passwordIn(form: FormData): string {
  const password = form.get('password');
  return typeof password === 'string' ? password : '';
}

/** A password for visitors, in the field `password` of a form. */
export function NewPassword({
  hint,
  isRequired = false,
}: {
  readonly hint: string;
  readonly isRequired?: boolean;
}) {
  return (
    <TextInput
      label="Password"
      name="password"
      type="password"
      autoComplete="new-password"
      minLength={8}
      maxLength={200}
      isRequired={isRequired}
      hint={hint}
    />
  );
}
