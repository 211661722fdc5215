import { useLocation } from 'wouter';
// The raw query: the router's is decoded, and `%2522` would become a quote.
import { useSearch } from 'wouter/use-browser-location';

/** Changes of address fields; undefined removes one. */
export type PlaceChange = Readonly<Record<string, string | undefined>>;

/**
 * Location in a page, stored in the query of its address, so that a reload, a link and the back
 * button restore it. Never contains secrets.
 * @returns the fields, and a function that navigates: a new history entry, or a replacement
 */
export function usePlace(): readonly [URLSearchParams, (change: PlaceChange, isStep?: boolean) => void] {
  const [path, navigate] = useLocation();
  const search = useSearch();
  const place = new URLSearchParams(search);
  const go = (change: PlaceChange, isStep = false) => {
    const next = placeAfter(location.search, change);
    navigate(`${path}${next}`, { replace: !isStep });
  };
  return [place, go];
}

/** `?a=b` with the change. */
export function placeAfter(search: string, change: PlaceChange): string {
  const fields = new URLSearchParams(search);
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined || value === '') fields.delete(name);
    else fields.set(name, value);
  }
  return fields.size === 0 ? '' : `?${fields}`;
}
