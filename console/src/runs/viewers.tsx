import { plainText } from '#core/shared/plain-text.ts';
import { useAnswer } from '../live/use-live.ts';

/** The API counts a viewer as present for 20 seconds. */
const EVERY_MS = 8_000;
/** Named; of more, their number is shown. */
const MOST_SHOWN = 4;

/** Who else has the run open now. The page of a run says so itself while it is visible. */
export function Viewers({ runId }: { readonly runId: string }) {
  const { value } = useAnswer('PUT /api/runs/{id}/viewers', { path: { id: runId } }, EVERY_MS);
  const names = value?.viewers.filter((each) => !each.is_you).map(({ user }) => plainText(user, 60)) ?? [];
  if (names.length === 0) return null;
  const rest = names.length - MOST_SHOWN;
  return (
    <span className="here" title={names.join(', ')}>
      Also here:
      <span className="viewers" role="list">
        {names.slice(0, MOST_SHOWN).map((name) => (
          <span key={name} role="listitem">
            <span className="initials" aria-hidden="true">
              {initialsOf(name)}
            </span>
            <bdi className="name">{name}</bdi>
          </span>
        ))}
        {rest > 0 ? <span role="listitem">and {rest} more</span> : null}
      </span>
    </span>
  );
}

/** Two letters of a name such as `ada.lovelace@example.org`. */
export function initialsOf(name: string): string {
  const words = (name.split('@')[0] ?? '').split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
  const [first = '', second = ''] = words.map((word) => Array.from(word)[0] ?? '');
  return (first + second).toUpperCase() || '?';
}
