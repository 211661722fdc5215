/** How long something took, or has taken so far: `0.4 s`, `12 s`, `1 min 05 s`. Milliseconds since the epoch. */
export function formatDuration(
  { created_at: began, ended_at: ended }: { readonly created_at: string; readonly ended_at: string | null },
  now: number,
): string {
  const took = Math.max(0, (ended === null ? now : Date.parse(ended)) - Date.parse(began));
  if (took < 10_000) return `${(took / 1_000).toFixed(1)} s`;
  const seconds = Math.round(took / 1_000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
}
