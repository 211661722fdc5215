/** A visitor who may enter a preview, and the request by which they open it. */
export interface Opening {
  /** Whether its sandbox runs and its URL serves. */
  readonly isAwake: boolean;
  /** `owner`: who may resume the sandbox anyway. `person`: is signed in. */
  readonly visitor: 'owner' | 'person' | 'anonymous';
  /**
   * What lets the visitor in. `level`: the access level, for which they are signed in. `secret`:
   * the URL or the password, which says nothing about them.
   */
  readonly invitedBy: 'level' | 'secret' | { readonly mayWake: boolean };
  readonly method: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Undefined: the request does not come from the page that visitors open. */
  readonly asked: 'opened' | 'pressed' | undefined;
}

/**
 * - `enter`: nothing is to be started.
 * - `wake`: start it.
 * - `ask`: start it once the visitor presses the button.
 * - `refuse`: only its owner starts it.
 */
export type WakeDecision = 'enter' | 'wake' | 'ask' | 'refuse';

/**
 * Whether a visitor starts a stopped preview. Starting costs its owner: strangers must not, nor
 * programs that open a URL before any person does.
 */
export function decideWake({ isAwake, visitor, invitedBy, method, headers, asked }: Opening): WakeDecision {
  if (isAwake || asked === undefined) return 'enter';
  if (visitor !== 'owner' && !isInvited(visitor, invitedBy)) return 'refuse';
  // Links to GET and HEAD are followed by crawlers and link previews.
  if (method !== 'POST' || isLoadedAhead(headers)) return 'ask';
  return visitor !== 'anonymous' || asked === 'pressed' ? 'wake' : 'ask';
}

function isInvited(visitor: Opening['visitor'], invitedBy: Opening['invitedBy']): boolean {
  if (typeof invitedBy === 'object') return invitedBy.mayWake;
  return invitedBy === 'level' && visitor === 'person';
}

/** Browsers load pages that no one has opened yet (Sec-Purpose, and its older names). */
function isLoadedAhead(headers: Opening['headers']): boolean {
  return ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) => headers[name] !== undefined);
}
