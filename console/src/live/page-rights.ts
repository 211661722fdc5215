import { createContext, useContext } from 'react';

/** What this session may do in the run or the sandbox of the page. The API decides by itself. */
interface PageRights {
  /** Whether it may change anything: files, processes, servers, previews and comments. */
  readonly canWork: boolean;
  /** Why not, and what to do about it, as sentences. */
  readonly why: string;
}

export const FULL_RIGHTS: PageRights = { canWork: true, why: '' };

/** The rights in a run or a sandbox with this access. */
export function rightsIn(
  what: 'run' | 'sandbox',
  access: 'owner' | 'work' | 'view',
  owner: string,
): PageRights {
  if (access !== 'view') return FULL_RIGHTS;
  return { canWork: false, why: `You can only view this ${what}. Ask ${owner} to let you work in it.` };
}

export const PageRightsContext = createContext(FULL_RIGHTS);

export function usePageRights(): PageRights {
  return useContext(PageRightsContext);
}
