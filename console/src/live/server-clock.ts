/** What a browser's clock may be off before that is seen in a countdown; answers tell the time in whole seconds, and take their time. */
const NEGLIGIBLE_MS = 3_000;

let ahead = 0;

/** Hears the time of an answer's server: what ends there must not look over because a clock here is wrong. */
export function hearServerTime(response: Response): void {
  const notice = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(notice)) return;
  const difference = notice - Date.now();
  ahead = Math.abs(difference) < NEGLIGIBLE_MS ? 0 : difference;
}

/** The server's time, in milliseconds since 1970. */
export function serverNow(): number {
  return Date.now() + ahead;
}
