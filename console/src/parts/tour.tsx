import { useEffect, useRef, useSyncExternalStore } from 'react';
import { Button } from './elements.tsx';
import { onTour, showTourStep, type TourStep, tourStep } from './tour-step.ts';

const STEPS = {
  1: {
    title: 'Start a run',
    words: (
      <>
        <strong>Try it</strong> starts a run with a small script as the agent. <strong>New run</strong> is for
        your own agent, and shows how it connects.
      </>
    ),
  },
  2: {
    title: 'Decide what the agent may show',
    words: (
      <>
        The agent asks before it opens a preview. The request appears on every page, and <kbd>F8</kbd> moves
        to it. Approve it once, or for longer: the page of the agent’s server is then under{' '}
        <strong>Previews</strong>.
      </>
    ),
  },
  3: {
    title: 'Tell the agent what to change',
    words: (
      <>
        Under <strong>Comments</strong>, press on the page where something is wrong: the agent reads it. The
        terminal and the files are yours, too. <kbd>Ctrl K</kbd> finds everything, and <kbd>?</kbd> lists the
        keys.
      </>
    ),
  },
};

/**
 * The tour of a new user: part of the page, so that it covers nothing, least of all a request of an
 * agent. It never takes the focus.
 */
export function Tour() {
  const step = useSyncExternalStore(onTour, tourStep);
  const section = useRef<HTMLElement>(null);
  const hadFocus = useRef(false);
  useEffect(() => {
    // The pressed button is gone with the tour.
    if (step === 'none' && hadFocus.current) document.getElementById('page')?.focus();
    hadFocus.current = false;
  }, [step]);
  if (step === 'none') return null;
  const { title, words } = STEPS[step];
  const go = (next: TourStep) => {
    hadFocus.current = next === 'none' && section.current?.contains(document.activeElement) === true;
    showTourStep(next);
  };
  return (
    <section
      ref={section}
      className="tour"
      aria-label="Tour"
      onKeyDown={(event) => {
        if (event.key === 'Escape') go('none');
      }}
    >
      <div role="status">
        <p className="quiet">Tour, step {step} of 3</p>
        <h2>{title}</h2>
        <p>{words}</p>
      </div>
      <div className="tools">
        <Button variant="plain" onPress={() => go('none')}>
          Skip the tour
        </Button>
        {step === 1 ? null : <Button onPress={() => go(step === 3 ? 2 : 1)}>Back</Button>}
        <Button variant="primary" onPress={() => go(step === 1 ? 2 : step === 2 ? 3 : 'none')}>
          {step === 3 ? 'End the tour' : 'Next'}
        </Button>
      </div>
    </section>
  );
}
