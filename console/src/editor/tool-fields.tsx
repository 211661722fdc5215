import type { ReactNode } from 'react';
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components';
import { Choice, TextInput } from '../parts/elements.tsx';
import CodeEditor from '../code/code-editor.tsx';
import {
  type FieldName,
  type FieldProblem,
  type FieldProblems,
  type ToolText,
  readSchema,
} from './tool-text.ts';

/** The tab of a field. */
export function tabOf(name: FieldName): FieldsTab {
  return name === 'source_code' || name === 'entrypoint' || name === 'language' ? 'code' : name;
}

const TABS = [
  { id: 'code', words: 'Code', fields: ['source_code', 'entrypoint', 'language'] },
  { id: 'input_schema', words: 'Input schema', fields: ['input_schema'] },
  { id: 'settings_schema', words: 'Settings schema', fields: ['settings_schema'] },
  { id: 'usage_instructions', words: 'Instructions', fields: ['usage_instructions'] },
  { id: 'versions', words: 'Versions', fields: [] },
] as const;

export type FieldsTab = (typeof TABS)[number]['id'];

const SCHEMA_HINT = 'JSON Schema, draft 2020-12. Empty: any JSON is taken.';

interface ToolFieldsProps {
  readonly text: ToolText;
  readonly saved: ToolText;
  readonly problems: FieldProblems;
  readonly readOnly: boolean;
  readonly tab: FieldsTab;
  readonly onTab: (tab: FieldsTab) => void;
  readonly onEdit: (name: FieldName, text: string) => void;
  readonly versions: ReactNode;
}

/** All fields of a version, and the versions. Editors stay mounted while another tab is shown. */
export function ToolFieldTabs(props: ToolFieldsProps) {
  const { text, saved, problems, readOnly, tab, onTab, onEdit, versions } = props;
  return (
    <Tabs className="tabs" selectedKey={tab} onSelectionChange={(key) => onTab(key as FieldsTab)}>
      <TabList aria-label="Fields of the tool">
        {TABS.map(({ id, words, fields }) => (
          <Tab key={id} id={id}>
            {words}{' '}
            {fields.some((name) => problems[name] !== undefined) ? (
              <span className="mark bad">has a problem</span>
            ) : fields.some((name) => text[name] !== saved[name]) ? (
              <span className="mark">not saved</span>
            ) : null}
          </Tab>
        ))}
      </TabList>
      <TabPanel id="code" shouldForceMount>
        <CodeField {...props} />
      </TabPanel>
      {(['input_schema', 'settings_schema'] as const).map((name) => (
        <TabPanel key={name} id={name} shouldForceMount>
          <SchemaField
            label={name === 'input_schema' ? 'Schema of the inputs' : 'Schema of the settings'}
            text={text[name]}
            problem={problems[name]}
            readOnly={readOnly}
            onChange={(next) => onEdit(name, next)}
          />
        </TabPanel>
      ))}
      <TabPanel id="usage_instructions" shouldForceMount>
        <CodeEditor
          label="Instructions"
          initial={text.usage_instructions}
          language="txt"
          readOnly={readOnly}
          onChange={(next) => onEdit('usage_instructions', next)}
        />
        <FieldLabels problem={problems.usage_instructions} hint="Shown to users who run the tool." />
      </TabPanel>
      <TabPanel id="versions">{versions}</TabPanel>
    </Tabs>
  );
}

function CodeField({ text, problems, readOnly, onEdit }: ToolFieldsProps) {
  return (
    <>
      <div className="code-head">
        <TextInput
          label="Entrypoint"
          value={text.entrypoint}
          onChange={(next) => onEdit('entrypoint', next)}
          isReadOnly={readOnly}
          autoComplete="off"
          spellCheck="false"
          hint="The name of a function, or module:function."
          problem={problems.entrypoint?.words}
        />
        <Choice
          label="Language"
          value={text.language}
          onChange={(next) => onEdit('language', next)}
          isDisabled={readOnly}
          options={[
            { id: 'python', words: 'Python' },
            { id: 'node', words: 'Node.js' },
          ]}
        />
      </div>
      <CodeEditor
        label="Code of the tool"
        initial={text.source_code}
        language={text.language === 'python' ? 'py' : 'js'}
        readOnly={readOnly}
        onChange={(next) => onEdit('source_code', next)}
      />
      <FieldLabels problem={problems.source_code} hint="" />
    </>
  );
}

interface SchemaFieldProps {
  readonly label: string;
  readonly text: string;
  /** The problem reported by the server or by the last submit. */
  readonly problem: FieldProblem | undefined;
  readonly readOnly: boolean;
  readonly onChange: (text: string) => void;
}

function SchemaField({ label, text, problem, readOnly, onChange }: SchemaFieldProps) {
  // Invalid JSON is reported while typing; an invalid schema after the server's validation.
  const shown = problem ?? readSchema(text).problem;
  return (
    <>
      <CodeEditor
        label={label}
        initial={text}
        language="json"
        readOnly={readOnly}
        problem={shown?.at}
        onChange={onChange}
      />
      <FieldLabels problem={shown} hint={SCHEMA_HINT} />
    </>
  );
}

interface FieldLabelsProps {
  readonly problem: FieldProblem | undefined;
  readonly hint: string;
}

function FieldLabels({ problem, hint }: FieldLabelsProps) {
  return (
    <>
      {hint === '' ? null : <p className="hint">{hint}</p>}
      <p className="field-error" role="status">
        {problem === undefined ? '' : `${problem.words.charAt(0).toUpperCase()}${problem.words.slice(1)}`}
      </p>
    </>
  );
}
