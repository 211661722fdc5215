/** What Porthole needs of a Gateway. */
export type Feature = 'route' | 'headers' | 'websocket' | 'sse' | 'timeouts' | 'body' | 'certificate';

export interface Finding {
  readonly feature: Feature;
  readonly ok: boolean;
  /** What was measured. */
  readonly detail: string;
  /** The remedy, if the feature is missing. */
  readonly change?: string;
}

export function found(feature: Feature, detail: string): Finding {
  return { feature, ok: true, detail };
}

export function lacking(feature: Feature, detail: string, change: string): Finding {
  return { feature, ok: false, detail, change };
}

/** A setting or the cluster prevents the examination; the message names the setting. */
export class ExaminationError extends Error {}
