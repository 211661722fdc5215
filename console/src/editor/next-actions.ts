import { plainText } from '#core/shared/plain-text.ts';
import type { ToolRun } from './use-tool-runs.ts';
import { fieldsOf, type FormField, isObject } from './schema-form.ts';

/** A next action of a run, as shown. */
export interface OfferedAction {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** Its form; undefined: no inputs. */
  readonly inputs:
    | { readonly schema: unknown; readonly fields: readonly FormField[] | undefined }
    | undefined;
}

/** Maximum characters; longer ones are truncated. */
const MOST_TITLE = 80;

/**
 * The next actions of a run: `title` (or `label`), `description` and `input_schema` are read, other
 * fields belong to the tool.
 */
export function offeredBy({ next_actions: actions }: ToolRun): readonly OfferedAction[] {
  return actions.map((action) => {
    const text = (name: string) => (typeof action[name] === 'string' ? action[name] : '');
    const title = text('title') || text('label') || action.id;
    const schema = action['input_schema'];
    return {
      id: action.id,
      title: plainText(title, MOST_TITLE),
      description: text('description'),
      inputs: isObject(schema) ? { schema, fields: fieldsOf(schema) } : undefined,
    };
  });
}
