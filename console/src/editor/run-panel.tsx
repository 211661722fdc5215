import { useState } from 'react';
import { FileTrigger, ToggleButton } from 'react-aria-components';
import { formatSize, timeLeft } from '../live/clock.ts';
import { useNow } from '../live/use-live.ts';
import { Button } from '../parts/elements.tsx';
import { type Inputs, valuesOf } from './tool-inputs.ts';
import { InputsForm } from './inputs-form.tsx';
import type { FormField } from './schema-form.ts';
import type { UnderWay } from './use-tool-runs.ts';

export interface RunPanelProps {
  readonly inputs: Inputs;
  readonly onInputs: (inputs: Inputs) => void;
  readonly fields: readonly FormField[] | undefined;
  readonly problems: Readonly<Record<string, string>>;
  readonly files: readonly File[];
  readonly onFiles: (files: readonly File[]) => void;
  readonly changed: boolean;
  /** Why nothing can run now. */
  readonly refused: string | undefined;
  readonly underWay: UnderWay | undefined;
  readonly onRun: () => void;
}

/** The inputs of a run, and the button that starts it. */
export function RunPanel(props: RunPanelProps) {
  const { inputs, onInputs, fields, problems, files, onFiles, changed, refused, underWay, onRun } = props;
  const [asJson, setAsJson] = useState(false);
  const hasForm = fields !== undefined;
  const isForm = hasForm && !asJson && valuesOf(inputs) !== undefined;
  return (
    <section className="run-panel" aria-labelledby="give">
      <div className="section-head">
        <h2 id="give">Inputs</h2>
        {hasForm ? (
          <ToggleButton
            className="button"
            isSelected={!isForm}
            onChange={setAsJson}
            isDisabled={asJson && valuesOf(inputs) === undefined}
          >
            As JSON
          </ToggleButton>
        ) : null}
      </div>
      <InputsForm inputs={inputs} onChange={onInputs} fields={fields} asJson={!isForm} problems={problems} />
      <div className="files-given">
        <FileTrigger
          allowsMultiple
          onSelect={(chosen) => {
            const names = new Set([...(chosen ?? [])].map(({ name }) => name));
            onFiles([...files.filter(({ name }) => !names.has(name)), ...(chosen ?? [])]);
          }}
        >
          <Button>Add files…</Button>
        </FileTrigger>
        {files.length === 0 ? null : (
          <ul aria-label="Files for the run">
            {files.map((file) => (
              <li key={file.name}>
                {file.name} <span className="quiet">{formatSize(file.size)}</span>
                <Button
                  variant="plain"
                  aria-label={`Leave ${file.name} out`}
                  onPress={() => onFiles(files.filter((each) => each !== file))}
                >
                  Leave out
                </Button>
              </li>
            ))}
          </ul>
        )}
      </div>
      <div className="actions">
        <Button
          variant="primary"
          isDisabled={refused !== undefined || underWay !== undefined}
          onPress={onRun}
        >
          {underWay !== undefined ? 'Running…' : changed ? 'Run unsaved' : 'Run'}
        </Button>
        <span className="quiet" role="status">
          {underWay === undefined ? (refused ?? '') : `${underWay.what} is under way.`}
        </span>
        {underWay === undefined ? null : <Elapsed since={underWay.since} />}
      </div>
    </section>
  );
}

/** Visible only: not announced each second. */
function Elapsed({ since }: { readonly since: number }) {
  const now = useNow();
  return (
    <span className="countdown" aria-hidden="true">
      {timeLeft(now - since)}
    </span>
  );
}
