import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { problemOf } from '../live/use-live.ts';
import { Button, TextInput } from '../parts/elements.tsx';
import { FormDialog } from '../parts/dialog-form.tsx';

/** From here on, the user types what happens. */
const TYPED_ABOVE = 10;
const CONCURRENT = 4;

export interface Selection {
  readonly ids: ReadonlySet<string>;
  /** Selects or deselects some; the same function in every render. */
  readonly select: (ids: readonly string[], isSelected: boolean) => void;
}

/** The selected rows of a list. Rows that are gone no longer count. */
export function useSelection(present: readonly string[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const select = useCallback(
    (ids: readonly string[], isSelected: boolean) =>
      setChosen((before) => {
        const next = new Set(before);
        for (const id of ids) {
          if (isSelected) next.add(id);
          else next.delete(id);
        }
        return next;
      }),
    [],
  );
  const key = present.join();
  const ids = useMemo(() => new Set(present.filter((id) => chosen.has(id))), [key, chosen]);
  return { ids, select };
}

export interface BulkAction<Item> {
  /** Imperative, e.g. `Delete`. */
  readonly verb: string;
  readonly danger?: boolean;
  readonly applies: (item: Item) => boolean;
  readonly run: (item: Item) => Promise<unknown>;
  /** What the user should know before. */
  readonly note: ReactNode;
}

export interface BulkActionsProps<Item> {
  readonly items: readonly Item[];
  /** Singular and plural. */
  readonly nouns: readonly [one: string, many: string];
  readonly nameOf: (item: Item) => string;
  readonly actions: readonly BulkAction<Item>[];
  readonly onClear: () => void;
  readonly onChange: () => void;
}

/** What can be done with the selected rows. */
export function BulkActions<Item>({ items, nouns, actions, onClear, ...rest }: BulkActionsProps<Item>) {
  if (items.length === 0) return null;
  return (
    <div className="bulk" role="group" aria-label={`Selected ${nouns[1]}`}>
      <span>{items.length.toLocaleString()} selected</span>
      {actions.map((action) => (
        <BulkButton key={action.verb} {...rest} action={action} nouns={nouns} items={items} />
      ))}
      <Button onPress={onClear}>Clear</Button>
    </div>
  );
}

type BulkButtonProps<Item> = Pick<BulkActionsProps<Item>, 'items' | 'nouns' | 'nameOf' | 'onChange'> & {
  readonly action: BulkAction<Item>;
};

function BulkButton<Item>({ action, nouns, items, nameOf, onChange }: BulkButtonProps<Item>) {
  const { verb, danger = false, applies, run, note } = action;
  const concerned = items.filter(applies);
  const what = `${concerned.length} ${nouns[concerned.length === 1 ? 0 : 1]}`;
  const phrase = `${verb.toLowerCase()} ${what}`;
  return (
    <FormDialog
      trigger={
        <Button variant={danger ? 'danger' : 'normal'} isDisabled={concerned.length === 0}>
          {`${verb} ${what}`}
        </Button>
      }
      title={`${verb} ${what}?`}
      action={verb}
      danger={danger}
      onSubmit={async () => {
        try {
          await runAll(concerned, run, nameOf);
        } finally {
          onChange();
        }
      }}
    >
      {note}
      {/* Scrolls, so it takes the focus (WCAG 2.1.1). */}
      <ul className="bulk-names" tabIndex={0} aria-label={`The ${what}`}>
        {concerned.map((item, at) => (
          <li key={at}>
            <bdi>{nameOf(item)}</bdi>
          </li>
        ))}
      </ul>
      {concerned.length > TYPED_ABOVE ? (
        <TextInput
          label={`Type “${phrase}” to confirm`}
          name="confirmation"
          autoComplete="off"
          isRequired
          validate={(text) => (text.trim() === phrase ? null : `Type “${phrase}”.`)}
        />
      ) : null}
    </FormDialog>
  );
}

/**
 * Runs it for each item, a few at a time, also after failures.
 * @throws ApiError that names the first failure, and how many failed
 */
export async function runAll<Item>(
  items: readonly Item[],
  run: (item: Item) => Promise<unknown>,
  nameOf: (item: Item) => string,
): Promise<void> {
  const waiting = [...items];
  const failures: string[] = [];
  const work = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      try {
        await run(item);
      } catch (error) {
        // What is gone already needs no action.
        if (error instanceof ApiError && error.status === 404) continue;
        failures.push(`${nameOf(item)}: ${problemOf(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  if (failures.length === 0) return;
  throw new ApiError(0, 'bulk_failed', `${failures.length} of ${items.length} failed. ${failures[0]}`);
}
