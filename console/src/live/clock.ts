/** A countdown for people: `4:09`, `1 h 05 min`; never negative. */
export function timeLeft(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1_000));
  if (seconds >= 3_600) {
    const minutes = Math.floor(seconds / 60);
    return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
  }
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** How long ago something was: `just now`, `4 min ago`, `3 h ago`, `2 d ago`. */
export function timeAgo(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return `${Math.floor(minutes / (24 * 60))} d ago`;
}

/** `512 B`, `1.4 KiB`, `3.0 MiB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB'];
  const power = Math.min(units.length, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1]}`;
}

/** An amount of memory or disk that the API has in MiB: `512 MiB`, `2 GiB`, `1.5 GiB`. */
export function formatMebibytes(amount: number): string {
  if (amount < 1024) return `${amount} MiB`;
  return `${(Math.round((amount / 1024) * 10) / 10).toLocaleString('en')} GiB`;
}

/**
 * Clock differences below this, in milliseconds, are ignored: responses have whole seconds, and a
 * delay.
 */
const NEGLIGIBLE_MS = 3_000;

let ahead = 0;

/** Reads the server's time from a response: expiries must not depend on the local clock. */
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
