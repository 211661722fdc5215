import { Check } from '../parts/elements.tsx';
import type { Selection } from './bulk-actions.tsx';

interface TableHeadProps {
  /** Names of columns; `wide` ones are left out on a phone. */
  readonly columns: readonly (string | { readonly wide: string })[];
  /** Whether the last column has the actions of a row. */
  readonly actions?: boolean;
  /** The first column: a checkbox for all rows. */
  readonly selects?: Selection & { readonly label: string; readonly rows: readonly string[] };
}

export function TableHead({ columns, actions = false, selects }: TableHeadProps) {
  return (
    <thead>
      <tr>
        {selects === undefined ? null : (
          <th scope="col">
            <Check
              aria-label={selects.label}
              isSelected={selects.ids.size === selects.rows.length}
              isIndeterminate={selects.ids.size > 0 && selects.ids.size < selects.rows.length}
              onChange={(isSelected) => selects.select(selects.rows, isSelected)}
            />
          </th>
        )}
        {columns.map((column, at) => (
          <th key={at} scope="col" className={typeof column === 'string' ? '' : 'wide'}>
            {typeof column === 'string' ? column : column.wide}
          </th>
        ))}
        {actions ? (
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        ) : null}
      </tr>
    </thead>
  );
}
