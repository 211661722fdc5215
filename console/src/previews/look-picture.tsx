import { useState } from 'react';
import { Button as PlainButton, Heading } from 'react-aria-components';
import { plainText } from '../../../base/plain-text.ts';
import { addressOf, type Answer } from '../api/client.ts';
import { formatMoment } from '../live/time-format.ts';
import { useAnswer } from '../live/use-live.ts';
import { Button, Choice, Pending } from '../parts/elements.tsx';
import { DialogButton } from '../parts/dialog-form.tsx';

type KeptLook = Answer<'GET /api/runs/{id}/looks'>['looks'][number];

interface LookProps {
  readonly runId: string;
  /** `look_id` */
  readonly look: string;
}

/** The thumbnail of a look, which opens its picture. Nothing once the look is no longer kept. */
export function LookPicture({ runId, look }: LookProps) {
  const [isGone, setIsGone] = useState(false);
  if (isGone) return null;
  return (
    <DialogButton
      className="picture-modal"
      trigger={
        <PlainButton className="look-picture" aria-label="Show the picture of the page">
          <img
            src={addressOf('GET /api/runs/{id}/looks/{look}/{picture}', {
              id: runId,
              look,
              picture: 'thumbnail',
            })}
            alt=""
            loading="lazy"
            width={160}
            height={100}
            onError={() => setIsGone(true)}
          />
        </PlainButton>
      }
    >
      {({ close }) => <CompareLooks runId={runId} look={look} onClose={close} />}
    </DialogButton>
  );
}

function CompareLooks({ runId, look, onClose }: LookProps & { readonly onClose: () => void }) {
  const { value, problem, reload } = useAnswer('GET /api/runs/{id}/looks', { path: { id: runId } });
  const [chosen, setChosen] = useState<string>();
  const looks = value?.looks;
  const after = looks?.find(({ look_id: id }) => id === look);
  const others = looks?.filter((each) => after !== undefined && isOfSamePage(each, after)) ?? [];
  const before = others.find(({ look_id: id }) => id === chosen) ?? earlierOf(others, after);
  return (
    <div className="compare-looks">
      <Heading slot="title">
        {after === undefined
          ? 'Picture of a page'
          : `Port ${after.target_port}, ${plainText(after.path, 200)}`}
      </Heading>
      {looks === undefined ? (
        <Pending words={problem} onRetry={reload} />
      ) : after === undefined ? (
        <p>The picture is no longer kept: the last 50 looks are kept for 24 hours.</p>
      ) : (
        <>
          <p className="quiet">
            {formatMoment(after.at)}: {plainText(after.summary, 300)}
          </p>
          {before === undefined ? (
            <div className="pictures">
              <LookImage runId={runId} look={after} words="The page" />
            </div>
          ) : (
            <>
              <Choice
                label="Before"
                value={before.look_id}
                onChange={setChosen}
                options={others.map(({ look_id: id, at }) => ({ id, words: formatMoment(at) }))}
              />
              <Slider key={before.look_id} runId={runId} before={before} after={after} />
            </>
          )}
        </>
      )}
      <div className="actions">
        <Button onPress={onClose}>Close</Button>
      </div>
    </div>
  );
}

interface SliderProps {
  readonly runId: string;
  readonly before: KeptLook;
  readonly after: KeptLook;
}

/** Two pictures of a page, one over the other: the earlier one up to the position of the slider. */
function Slider({ runId, before, after }: SliderProps) {
  const [share, setShare] = useState(50);
  return (
    <>
      <label>
        Before and after
        <input
          type="range"
          min={0}
          max={100}
          value={share}
          aria-valuetext={`${share} % before`}
          onChange={({ currentTarget }) => setShare(currentTarget.valueAsNumber)}
        />
      </label>
      <div className="pictures">
        <LookImage runId={runId} look={after} words="After" />
        <LookImage runId={runId} look={before} words="Before" share={share} />
      </div>
    </>
  );
}

interface LookImageProps {
  readonly runId: string;
  readonly look: KeptLook;
  readonly words: string;
  /** Percentage of its width that shows. @default all of it */
  readonly share?: number;
}

/** Only the newest looks have their picture; of the others there is the thumbnail. */
function LookImage({ runId, look, words, share = 100 }: LookImageProps) {
  const [picture, setPicture] = useState('picture');
  return (
    <img
      src={addressOf('GET /api/runs/{id}/looks/{look}/{picture}', { id: runId, look: look.look_id, picture })}
      alt={`${words}, ${formatMoment(look.at)}`}
      // CSP forbids style attributes, but not the property that React sets.
      style={share === 100 ? {} : { clipPath: `inset(0 ${100 - share}% 0 0)` }}
      onError={() => setPicture('thumbnail')}
    />
  );
}

function isOfSamePage(look: KeptLook, other: KeptLook): boolean {
  return (
    look.look_id !== other.look_id &&
    look.has_thumbnail &&
    look.target_port === other.target_port &&
    look.path === other.path &&
    look.full_page === other.full_page &&
    look.viewport.width === other.viewport.width &&
    look.viewport.height === other.viewport.height
  );
}

/** The last look before this one; they are sorted, the newest first. */
function earlierOf(others: readonly KeptLook[], after: KeptLook | undefined): KeptLook | undefined {
  return after === undefined ? undefined : others.find(({ look_id: id }) => id < after.look_id);
}
