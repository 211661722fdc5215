import type { PreviewTarget } from './preview-target.ts';

/**
 * The live previews of the same run and sandbox as one preview: what the app calls
 * `http://localhost:{port}`, and the browser by the host of its preview.
 */
export interface Siblings {
  /** The app's port behind a host name (without a port); undefined if it is no sibling. */
  portOf(hostname: string): number | undefined;
  /** The host name (without a port) of the preview of an app's port, if it has one. */
  hostOf(targetPort: number): string | undefined;
  /** The preview of an app's port, if it has one. */
  targetOf(targetPort: number): PreviewTarget | undefined;
}

/** For a preview without siblings. */
export const NO_SIBLINGS: Siblings = {
  portOf: () => undefined,
  hostOf: () => undefined,
  targetOf: () => undefined,
};
