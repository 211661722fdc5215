import { readFile } from 'node:fs/promises';

/** The kubelet replaces a token long before it ends; a minute is what Kubernetes' own clients keep one for. */
const KEPT_MS = 60_000;

/** A bearer token out of a file that somebody else keeps fresh. */
export function fileToken(file: string): (refresh: boolean) => Promise<string> {
  let kept: { token: Promise<string>; until: number } | undefined;
  return (refresh) => {
    const now = performance.now();
    if (kept === undefined || refresh || now >= kept.until) {
      const token = readFile(file, 'utf8').then((text) => text.trim());
      kept = { token, until: now + KEPT_MS };
      // What could not be read is not kept.
      token.catch(() => (kept = undefined));
    }
    return kept.token;
  };
}
