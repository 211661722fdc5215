import { useEffect, useRef, useState } from 'react';

/**
 * The first heading of the page at this address, as it is by now: pages load, and things are renamed. After each change of the address the heading is focused once it is there, unless somebody has gone on into the
 * page meanwhile: that tells a screen reader that the page is another one, and where the keyboard is.
 */
export function usePageHeading(location: string): string {
  const [words, setWords] = useState('');
  const before = useRef(location);
  useEffect(() => {
    const page = document.getElementById('page');
    if (page === null) return undefined;
    let isToFocus = before.current !== location;
    before.current = location;
    const look = () => {
      // While a page's script is on its way, the page before is there still, unseen.
      const heading = [...page.querySelectorAll('h1')].find((each) => each.checkVisibility());
      if (heading === undefined) return;
      setWords(heading.textContent);
      if (!isToFocus) return;
      isToFocus = false;
      if (document.activeElement !== page && page.contains(document.activeElement)) return;
      heading.tabIndex = -1;
      heading.focus();
    };
    const observer = new MutationObserver(look);
    observer.observe(page, { subtree: true, childList: true, characterData: true });
    look();
    return () => observer.disconnect();
  }, [location]);
  return words;
}
