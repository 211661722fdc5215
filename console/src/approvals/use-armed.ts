import { useEffect, useRef, useState, type RefObject } from 'react';

/** The delay that browsers use to protect their own prompts from accidental presses. */
const SETTLE_MS = 500;

/**
 * Clickjacking: whether the element may be pressed. It must be unmoved in a focused window for half
 * a second: an element that appears or moves under a pointer is pressed by accident, or because an
 * attacker timed it.
 * @param layout changes whenever the element moves
 */
export function useArmed(element: RefObject<HTMLElement | null>, layout: string): boolean {
  const [armed, setArmed] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const settle = () => {
      setArmed(false);
      clearTimeout(timer);
      timer = setTimeout(() => setArmed(true), SETTLE_MS);
    };
    settle();
    const size = new ResizeObserver(settle);
    if (element.current !== null) size.observe(element.current);
    // A focus event also arrives when the focus leaves a frame of the page, such as a preview, but
    // the window is the same.
    let wasElsewhere = false;
    const leave = () => {
      wasElsewhere = !document.hasFocus();
    };
    const come = () => {
      if (wasElsewhere) settle();
      wasElsewhere = false;
    };
    const ended = new AbortController();
    const { signal } = ended;
    window.addEventListener('blur', leave, { signal });
    window.addEventListener('focus', come, { signal });
    window.addEventListener('resize', settle, { signal });
    document.addEventListener('visibilitychange', settle, { signal });
    return () => {
      ended.abort();
      clearTimeout(timer);
      size.disconnect();
    };
  }, [element, layout]);
  return armed;
}

/** The events of a button that acts only on presses that begin and end while it is armed. */
export function useArmedPress(armed: boolean) {
  const begunArmed = useRef(false);
  return (act: () => void) => ({
    onPressStart: () => {
      begunArmed.current = armed;
    },
    onPress: () => {
      if (begunArmed.current && armed) act();
    },
  });
}
