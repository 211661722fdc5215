import { useEffect, useState } from 'react';
import { Button, Choice, TextInput } from '../parts/elements.tsx';
import { isTagFilter } from '../sandboxes/sandbox-fields.ts';
import type { PlaceChange } from '../sandboxes/use-place.ts';

/** Debounce of typing, in milliseconds. */
const PAUSE_MS = 300;

const AGES = [
  { id: 'any', words: 'Any age', hours: undefined },
  { id: 'hour', words: 'Last hour', hours: 1 },
  { id: 'day', words: 'Last 24 hours', hours: 24 },
  { id: 'week', words: 'Last 7 days', hours: 7 * 24 },
  { id: 'month', words: 'Last 30 days', hours: 30 * 24 },
] as const;

const OWNERSHIPS = [
  { id: 'mine', words: 'Mine' },
  { id: 'true', words: 'Shared with me' },
] as const;

interface Option {
  readonly id: string;
  readonly words: string;
}

export interface ListKind {
  /** Plural noun of what is listed. */
  readonly noun: string;
  /** Field of the API for the state. */
  readonly stateField: 'state' | 'status';
  /** The first one means any. */
  readonly states: readonly Option[];
  /** The first one is the API's default. */
  readonly sorts: readonly Option[];
  /** Whether others share some with the user. */
  readonly isShared?: boolean;
}

/** Fields of the address that hold a filter. */
const FIELDS = ['q', 'shared', 'state', 'age', 'tag', 'image', 'owner', 'sort'] as const;

/** The query parameters of an address's filter; `query` has those that narrow the list. */
export function filterOf(
  place: URLSearchParams,
  { stateField, states, sorts, isShared = false }: ListKind,
  now: number,
): { readonly query: Readonly<Record<string, string>>; readonly isFiltered: boolean } {
  const text = (field: string) => place.get(field)?.trim() ?? '';
  const known = (options: readonly Option[], field: string) =>
    options.slice(1).find(({ id }) => id === place.get(field))?.id ?? '';
  const hours = AGES.find(({ id }) => id === place.get('age'))?.hours;
  const filters = {
    query: text('q'),
    shared: isShared && place.get('shared') === 'true' ? 'true' : '',
    [stateField]: known(states, 'state'),
    tag: isTagFilter(text('tag')) ? text('tag') : '',
    image: text('image'),
    owner: text('owner'),
    // To the minute, so that the request stays the same for a while.
    created_after:
      hours === undefined ? '' : new Date(Math.floor(now / 60_000 - hours * 60) * 60_000).toISOString(),
  };
  const given = Object.entries(filters).filter(([, value]) => value !== '');
  const sort = known(sorts, 'sort');
  return {
    query: Object.fromEntries(sort === '' ? given : [...given, ['sort', sort]]),
    isFiltered: given.length > 0,
  };
}

/** Shown when they are asked for, or set. */
const FOLDED: readonly (typeof FIELDS)[number][] = ['age', 'tag', 'image', 'owner'];

/** The change of an address that removes every filter. */
export const NO_FILTER: PlaceChange = Object.fromEntries(
  FIELDS.filter((field) => field !== 'sort').map((field) => [field, undefined]),
);

export interface ListFiltersProps extends ListKind {
  readonly place: URLSearchParams;
  readonly go: (change: PlaceChange) => void;
  /** Whether the user sees what others own. */
  readonly hasOwners: boolean;
}

/** The filters of a list. They are in the address. */
export function ListFilters({ noun, states, sorts, isShared, place, go, hasOwners }: ListFiltersProps) {
  const set = FOLDED.filter((field) => place.has(field)).length;
  const [isOpen, setIsOpen] = useState(set > 0);
  const input = (name: string) => ({
    value: place.get(name) ?? '',
    onChange: (value: string) => go({ [name]: value }),
  });
  const choice = (name: string, options: readonly Option[]) => {
    const [first = { id: '', words: '' }] = options;
    return {
      options,
      value: options.find(({ id }) => id === place.get(name))?.id ?? first.id,
      onChange: (id: string) => go({ [name]: id === first.id ? undefined : id }),
    };
  };
  return (
    <div className="filters" role="search" aria-label={`Filter ${noun}`}>
      <FilterInput label="Find" type="search" placeholder="Name or id" {...input('q')} />
      {isShared === true ? <Choice label="Show" {...choice('shared', OWNERSHIPS)} /> : null}
      <Choice label="State" {...choice('state', states)} />
      <Choice label="Sort by" {...choice('sort', sorts)} />
      <Button aria-expanded={isOpen} onPress={() => setIsOpen(!isOpen)}>
        {set === 0 ? 'Filters' : `Filters (${set})`}
      </Button>
      {isOpen ? (
        <>
          <Choice label="Age" {...choice('age', AGES)} />
          <FilterInput
            label="Tag"
            placeholder="key:value"
            isGood={isTagFilter}
            problem="A tag is key:value."
            {...input('tag')}
          />
          <FilterInput label="Image" placeholder="whole name" {...input('image')} />
          {hasOwners ? <FilterInput label="Owner" placeholder="user name" {...input('owner')} /> : null}
        </>
      ) : null}
    </div>
  );
}

interface FilterInputProps {
  readonly label: string;
  readonly type?: 'search';
  readonly placeholder: string;
  readonly value: string;
  readonly isGood?: (value: string) => boolean;
  readonly problem?: string;
  readonly onChange: (value: string) => void;
}

function FilterInput({ value, isGood = () => true, problem, onChange, ...props }: FilterInputProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onChange(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const isBad = text !== '' && !isGood(text);
  return (
    <TextInput
      {...props}
      value={text}
      onChange={setText}
      maxLength={200}
      autoComplete="off"
      isInvalid={isBad}
      {...(isBad && problem !== undefined ? { hint: problem } : {})}
    />
  );
}
