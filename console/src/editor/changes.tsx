import { ChangedLines } from './changed-lines.tsx';
import { changedFields, FIELD_LABELS, type ToolText } from './tool-text.ts';

export interface ChangesProps {
  readonly before: ToolText;
  readonly after: ToolText;
}

/** Differences between two texts of a tool, field by field. */
export function Changes({ before, after }: ChangesProps) {
  const names = changedFields(before, after);
  if (names.length === 0) return <p className="quiet">There is no difference.</p>;
  return (
    <>
      {names.map((name) => (
        <section key={name} className="change" aria-label={FIELD_LABELS[name]}>
          <h3>{FIELD_LABELS[name]}</h3>
          <ChangedLines before={before[name]} after={after[name]} />
        </section>
      ))}
    </>
  );
}
