import { useEffect, useState, type RefObject } from 'react';

/**
 * As long as browsers keep their own questions from being answered by a press that was meant for
 * something else.
 */
const SETTLE_MS = 500;

/**
 * Clickjacking: whether the element may be pressed. It must be unmoved in a focused window for half
 * a second. What appears under a pointer, or moves there, is pressed by accident, or because an
 * attacker timed it.
 * @param layout another whenever it moves
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
    // Out of a frame of the page, such as a preview, one comes as well: but from the same window.
    let wasElsewhere = false;
    const leave = () => {
      wasElsewhere = !document.hasFocus();
    };
    const come = () => {
      if (wasElsewhere) settle();
      wasElsewhere = false;
    };
    window.addEventListener('blur', leave);
    window.addEventListener('focus', come);
    window.addEventListener('resize', settle);
    document.addEventListener('visibilitychange', settle);
    return () => {
      clearTimeout(timer);
      size.disconnect();
      window.removeEventListener('blur', leave);
      window.removeEventListener('focus', come);
      window.removeEventListener('resize', settle);
      document.removeEventListener('visibilitychange', settle);
    };
  }, [element, layout]);
  return armed;
}
