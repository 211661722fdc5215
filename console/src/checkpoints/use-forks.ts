import { usePlace } from '../sandboxes/use-place.ts';

/** More columns would be too narrow. */
const MAX_FORKS = 3;

/** The runs of the forks that are open beside a run, in the address: a reload keeps them. */
export function useForks() {
  const [place, go] = usePlace();
  const forks = (place.get('forks') ?? '')
    .split(',')
    .filter((id) => id !== '')
    .slice(0, MAX_FORKS);
  const set = (next: readonly string[]) => go({ forks: next.join(',') });
  return {
    forks,
    /** @param closes the drawer, which leaves their pages too little space */
    add: (runs: readonly string[], closes: boolean) => {
      go({ forks: [...forks, ...runs].slice(0, MAX_FORKS).join(','), ...(closes && { drawer: undefined }) });
      if (closes) document.getElementById('pane-preview')?.focus();
    },
    remove: (run: string) => set(forks.filter((id) => id !== run)),
    close: () => set([]),
  };
}
