import { Checkbox, CheckboxGroup, Label } from 'react-aria-components';
import { useLocation } from 'wouter';
import { call } from '../api/client.ts';
import { useAnswer } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Choice } from '../parts/choice.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { formText } from '../parts/form-text.ts';
import { TextInput } from '../parts/text-input.tsx';

/** Makes a sandbox. */
export function NewSandbox({ onMade }: { readonly onMade: () => void }) {
  const [, navigate] = useLocation();
  const { value: images } = useAnswer('GET /api/images');
  const { value: skills } = useAnswer('GET /api/skills', { query: { limit: 200 } });
  return (
    <FormDialog
      trigger={<Button variant="primary">New sandbox</Button>}
      title="New sandbox"
      action="Create it"
      onSubmit={async (form) => {
        const text = (field: string) => formText(form, field);
        const [name, image] = [text('name'), text('image')];
        const amounts = { cpu: text('cpu'), memory_mb: text('memory_mb'), disk_mb: text('disk_mb') };
        const resources = Object.fromEntries(
          Object.entries(amounts)
            .filter(([, amount]) => amount !== '')
            .map(([field, amount]) => [field, Number(amount)]),
        );
        const chosen = form.getAll('skills').map(String);
        const { id } = await call('POST /v1/sandbox', {
          body: {
            ...(name === '' ? {} : { name }),
            ...(image === '' || image === 'default' ? {} : { image }),
            ...(Object.keys(resources).length === 0 ? {} : { resources }),
            ...(chosen.length === 0 ? {} : { skills: chosen }),
            ...(form.get('network') === null ? {} : { network: true }),
          },
        });
        onMade();
        navigate(`/sandboxes/${encodeURIComponent(id)}`);
      }}
    >
      <TextInput label="Name" name="name" hint="Unique among your own; it may have none" />
      <Choice
        label="Image"
        name="image"
        initial="default"
        options={[
          { id: 'default', words: 'Default' },
          ...(images?.images ?? []).map(({ name, description }) => ({
            id: name,
            words: description === '' ? name : `${name}: ${description}`,
          })),
        ]}
      />
      <div className="row">
        <TextInput label="CPU" name="cpu" inputMode="decimal" pattern="\d+(\.\d+)?" placeholder="default" />
        <TextInput
          label="Memory, MB"
          name="memory_mb"
          inputMode="numeric"
          pattern="\d+"
          placeholder="default"
        />
        <TextInput label="Disk, MB" name="disk_mb" inputMode="numeric" pattern="\d+" placeholder="default" />
      </div>
      <Checkbox name="network" value="yes" className="check">
        <span className="box" aria-hidden="true" />
        May reach the internet
      </Checkbox>
      {skills === undefined || skills.skills.length === 0 ? null : (
        <CheckboxGroup name="skills" className="field">
          <Label>Skills</Label>
          {skills.skills.map(({ name, description }) => (
            <Checkbox key={name} value={name} className="check">
              <span className="box" aria-hidden="true" />
              {name} <span className="quiet">{description}</span>
            </Checkbox>
          ))}
        </CheckboxGroup>
      )}
    </FormDialog>
  );
}
