/** How it stands with a build that is not there. */
export type ConsoleBuild =
  | { readonly state: 'none' | 'under way' }
  /** `words`: the builder's last ones, for a person at this machine. */
  | { readonly state: 'failed'; readonly words: string };

let existing: ConsoleBuild = { state: 'none' };

/** Told by whoever builds beside the functions; functions that nobody builds for are never told. */
export function setConsoleBuild(build: ConsoleBuild): void {
  existing = build;
}

export function consoleBuild(): ConsoleBuild {
  return existing;
}
