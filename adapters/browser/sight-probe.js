/* oxlint-disable eslint/no-unused-expressions -- its value is what the evaluation gives */
/*
 * Measures where a page's text is, what hides it, and what moves. Runs in the page's isolated
 * world, so that the page's scripts can replace none of what it calls. Every count is bounded.
 */
(() => {
  const MAX_NODES = 4_000;
  const MAX_BOXES = 300;
  const MAX_ANIMATIONS = 200;
  const MAX_URLS = 100;
  /** A person sees less as a dot, in pixels. */
  const SMALLEST = 4;
  const SKIPPED = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'TITLE', 'OPTION', 'HEAD', 'DATALIST']);
  const CONTROL = 'a[href], button, input, select, textarea, [role=button], [contenteditable=true]';
  const MEDIA = 'img, canvas, video, iframe, object, embed, svg';
  const HEADING = 'h1, h2, h3, button';
  const ASIDE = 'nav, aside, dialog, footer, [aria-hidden=true], [inert], [role=dialog], [role=menu]';

  const one = (text, most) =>
    String(text ?? '')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, most);
  const nameOf = (element) => {
    const id = element.id === '' ? '' : `#${element.id}`;
    const kind = (element.getAttribute('class') ?? '').trim().split(/\s+/)[0];
    return one(`${element.localName}${id}${id === '' && kind ? `.${kind}` : ''}`, 80);
  };
  const parentOf = (node) => node.assignedSlot ?? node.parentElement ?? node.getRootNode().host ?? null;
  const within = (a, b) => ({
    left: Math.max(a.left, b.left),
    top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom),
  });
  const isEmpty = ({ left, top, right, bottom }) => right - left < SMALLEST || bottom - top < SMALLEST;
  const sizeOf = ({ left, top, right, bottom }) => Math.max(0, right - left) * Math.max(0, bottom - top);
  const view = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };

  /** What an element's ancestors leave of it. A scroller shows the rest on demand. */
  const clips = new Map();
  const clipOf = (element) => {
    if (element === null || element === document.body || element === document.documentElement) {
      return { box: { left: -1e9, top: -1e9, right: 1e9, bottom: 1e9 }, by: null, isScroller: false };
    }
    const known = clips.get(element);
    if (known !== undefined) return known;
    const outer = clipOf(parentOf(element));
    const { overflowX, overflowY } = getComputedStyle(element);
    let clip = outer;
    if (overflowX !== 'visible' || overflowY !== 'visible') {
      const rect = element.getBoundingClientRect();
      const box = within(outer.box, rect);
      const isScroller = /auto|scroll/.test(overflowX + overflowY) && !isEmpty(rect);
      clip = { box, by: isEmpty(box) ? (outer.by ?? element) : null, isScroller };
    }
    clips.set(element, clip);
    return clip;
  };
  const isFixed = (element) => {
    for (let at = element; at !== null; at = parentOf(at)) {
      if (getComputedStyle(at).position === 'fixed') return true;
    }
    return false;
  };
  const scrolls = [document.documentElement, document.body].every(
    (element) => element === null || !/hidden|clip/.test(getComputedStyle(element).overflowY),
  );
  const { scrollWidth, scrollHeight } = document.documentElement;
  const isReachable = (element, { left, top, right, bottom }) =>
    scrolls &&
    right + scrollX > 0 &&
    bottom + scrollY > 0 &&
    left + scrollX < scrollWidth &&
    top + scrollY < scrollHeight &&
    !isFixed(element);
  /** The outermost element that hides it, and how. */
  const hiderOf = (element) => {
    let found = null;
    for (let at = element; at !== null && at !== document.documentElement; at = parentOf(at)) {
      const { display, visibility, opacity } = getComputedStyle(at);
      if (display === 'none') found = { element: nameOf(at), by: 'display' };
      else if (Number(opacity) === 0) found = { element: nameOf(at), by: 'opacity' };
      else if (visibility !== 'visible' && found === null) found = { element: nameOf(at), by: 'visibility' };
    }
    return found;
  };
  /** Inline text in the colour of its background: a person uncovers it. */
  const isSpoiler = (element) => {
    for (let at = element, left = 3; at !== null && left > 0; at = parentOf(at), left -= 1) {
      const { display, backgroundColor, color } = getComputedStyle(at);
      if (!display.startsWith('inline')) return false;
      if (backgroundColor === color) return true;
    }
    return false;
  };
  const isOwn = (element, top) => {
    for (let at = top; at !== null; at = parentOf(at)) if (at === element) return true;
    for (let at = element; at !== null; at = parentOf(at)) if (at === top) return true;
    return top === null;
  };
  const deepest = (x, y) => {
    let top = document.elementFromPoint(x, y);
    for (let left = 20; top?.shadowRoot && left > 0; left -= 1) {
      const inner = top.shadowRoot.elementFromPoint(x, y);
      if (inner === null || inner === top) break;
      top = inner;
    }
    return top;
  };

  const boxes = [];
  const lengths = { inView: 0, below: 0, outside: 0, outsideMain: 0, clipped: 0, hidden: 0 };
  let hidden = null;
  let outside = null;
  let clippedBy = null;
  let below = null;
  let controls = 0;
  let nodes = 0;

  const take = (element, length, rect) => {
    const clip = clipOf(element);
    const shown = within(rect, clip.box);
    if (isEmpty(shown)) {
      if (clip.isScroller) lengths.below += length;
      // Text for screen readers is clipped by its own element.
      else if (clip.by !== null && clip.by !== element) {
        lengths.clipped += length;
        clippedBy ??= nameOf(clip.by);
      }
      return;
    }
    const seen = within(shown, view);
    if (isEmpty(seen)) {
      if (isReachable(element, shown)) {
        lengths.below += length;
        below = Math.min(below ?? 1e9, Math.round(rect.top + scrollY));
      } else {
        lengths.outside += length;
        if (element.closest(ASIDE) === null) {
          lengths.outsideMain += length;
          outside ??= nameOf(element);
        }
      }
      return;
    }
    lengths.inView += length;
    if (boxes.length >= MAX_BOXES) return;
    const top = deepest((seen.left + seen.right) / 2, (seen.top + seen.bottom) / 2);
    const { color } = getComputedStyle(element);
    boxes.push({
      x: seen.left,
      y: seen.top,
      width: seen.right - seen.left,
      height: seen.bottom - seen.top,
      length,
      isHeading: element.closest(HEADING) !== null,
      isCovered: !isOwn(element, top),
      isMeant: /^rgba\(.*, 0\)$/.test(color) || isSpoiler(element),
    });
  };

  const range = document.createRange();
  const visit = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node !== null && nodes < MAX_NODES; node = walker.nextNode()) {
      nodes += 1;
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (node.shadowRoot !== null) visit(node.shadowRoot);
        if (!node.matches(`${CONTROL}, ${MEDIA}`)) continue;
        const rect = node.getBoundingClientRect();
        if (isEmpty(rect) || !node.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
          continue;
        const shown = within(rect, within(view, clipOf(node).box));
        if (isEmpty(shown)) continue;
        controls += 1;
        continue;
      }
      const element = node.parentElement ?? root.host;
      const length = node.data.trim().length;
      if (length === 0 || element == null || SKIPPED.has(element.tagName)) continue;
      if (element.closest('title, desc, datalist, select') !== null) continue;
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) {
        lengths.hidden += length;
        if (hidden === null || hidden.length < 200) {
          const hider = hiderOf(element);
          if (hider !== null) hidden ??= hider;
        }
        continue;
      }
      range.selectNodeContents(node);
      const rects = [...range.getClientRects()].slice(0, 20);
      for (const rect of rects) take(element, Math.ceil(length / rects.length), rect);
    }
  };
  if (document.body !== null) visit(document.body);

  /* What moves without end, and the layer that it lies on. */
  const layerOf = (element) => {
    for (let at = element; at !== null && at !== document.body; at = parentOf(at)) {
      const { position } = getComputedStyle(at);
      const isLayer = position === 'fixed' || position === 'absolute';
      if (isLayer && sizeOf(within(at.getBoundingClientRect(), view)) > 0.8 * sizeOf(view)) return at;
    }
    return null;
  };
  const ownText = (element) => one(element.innerText ?? '', 200);
  const topShare = (layer) => {
    let count = 0;
    for (let at = 0; at < 25; at += 1) {
      const [x, y] = [((at % 5) + 0.5) / 5, (Math.floor(at / 5) + 0.5) / 5];
      const top = deepest(x * innerWidth, y * innerHeight);
      for (let up = top; up !== null; up = parentOf(up)) if (up === layer) count += 1;
    }
    return count / 25;
  };
  const MARKED = /spin|loader|loading|skeleton|shimmer/i;
  const isMarked = (element) => {
    for (let at = element, left = 4; at !== null && left > 0; at = parentOf(at), left -= 1) {
      if (MARKED.test(`${at.id} ${at.getAttribute('class') ?? ''}`)) return true;
      if (at.getAttribute('aria-busy') === 'true' || at.getAttribute('role') === 'progressbar') return true;
    }
    return false;
  };
  const moving = new Set();
  let isChanging = false;
  for (const animation of document.getAnimations().slice(0, MAX_ANIMATIONS)) {
    const target = animation.effect?.target;
    if (animation.playState !== 'running' || target == null) continue;
    if (animation.effect.getComputedTiming().endTime === Infinity) moving.add(target);
    else isChanging = true;
  }
  for (const each of document.querySelectorAll('svg animate, svg animateTransform, progress:not([value])')) {
    const isEndless = each.localName === 'progress' || each.getAttribute('repeatCount') === 'indefinite';
    if (isEndless) moving.add(each.localName === 'progress' ? each : (each.ownerSVGElement ?? each));
  }
  let spinner = null;
  let movingArea = 0;
  for (const element of moving) {
    const box = within(element.getBoundingClientRect(), view);
    if (isEmpty(box) || !element.checkVisibility({ visibilityProperty: true })) continue;
    movingArea += sizeOf(box);
    const layer = layerOf(element);
    const isOver =
      layer !== null &&
      layer.querySelector(CONTROL) === null &&
      ownText(layer).length <= 80 &&
      sizeOf(box) < 0.2 * sizeOf(view) &&
      topShare(layer) >= 0.8;
    const found = { element: nameOf(isOver ? layer : element), isOver, isMarked: isMarked(element) };
    if (
      spinner === null ||
      (isOver && !spinner.isOver) ||
      (found.isMarked && !spinner.isMarked && !spinner.isOver)
    )
      spinner = found;
  }

  /* Failed resources that a person misses. */
  const urls = (found) => [...new Set(found)].filter((url) => url !== '').slice(0, MAX_URLS);
  const isSeen = (element) => {
    const rect = element.getBoundingClientRect();
    return (
      rect.width >= 8 &&
      rect.height >= 8 &&
      element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    );
  };
  const images = [...document.images].filter(
    (image) => image.complete && image.naturalWidth === 0 && isSeen(image),
  );
  const media = [...document.querySelectorAll('video, audio')].filter(
    ({ error, networkState }) => error !== null || networkState === 3,
  );
  const familyOf = (name) => name.replace(/^["']|["']$/g, '').toLowerCase();
  const failedFonts = new Set(
    [...document.fonts].filter(({ status }) => status === 'error').map(({ family }) => familyOf(family)),
  );
  const needed = new Set();
  if (failedFonts.size > 0) {
    for (const element of [...document.querySelectorAll('body, body *')].slice(0, MAX_NODES)) {
      if (
        ![...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '')
      )
        continue;
      const families = getComputedStyle(element)
        .fontFamily.split(',')
        .map((name) => familyOf(name.trim()));
      const last = families.at(-1);
      if (last !== undefined && failedFonts.has(last)) needed.add(last);
    }
  }
  const fonts = [];
  if (needed.size > 0) {
    for (const sheet of document.styleSheets) {
      let rules = [];
      try {
        rules = [...sheet.cssRules];
      } catch {
        // Of another origin.
      }
      for (const rule of rules) {
        if (
          !(rule instanceof CSSFontFaceRule) ||
          !needed.has(familyOf(rule.style.getPropertyValue('font-family')))
        )
          continue;
        for (const [, url] of rule.style.getPropertyValue('src').matchAll(/url\(["']?([^"')]+)["']?\)/g)) {
          const resolved = URL.parse(url, sheet.href ?? document.baseURI);
          if (resolved !== null) fonts.push(resolved.href);
        }
      }
    }
  }
  const handled = [...document.querySelectorAll('script[onerror], link[onerror]')].map(
    (element) => element.src || element.href,
  );
  const loads = [...document.querySelectorAll('script[src], link[rel~=stylesheet]')].map(
    (element) => element.src || element.href,
  );

  /* How the document is built. */
  const links = [...document.querySelectorAll('body a[href]')].slice(0, 400);
  const decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const named = links.filter((link) => {
    const end = decoded(link.getAttribute('href').split(/[?#]/, 1)[0]).replace(/\/$/, '').split('/').at(-1);
    const text = one(link.textContent, 300).replace(/\/$/, '');
    return text === end || (text.endsWith('>') && end.startsWith(text.slice(0, -3))) || /^\.\.?$/.test(text);
  });
  const code = [...document.querySelectorAll('pre, code, textarea, kbd, samp')]
    .map((element) => element.textContent)
    .join(' ');
  const sheets = [...document.styleSheets];
  const mentionsScheme = (sheet) => {
    if (/prefers-color-scheme/.test(sheet.media?.mediaText ?? '')) return true;
    try {
      return [...sheet.cssRules]
        .slice(0, 5_000)
        .some((rule) => rule instanceof CSSMediaRule && /prefers-color-scheme/.test(rule.conditionText));
    } catch {
      return false;
    }
  };
  const refresh = document.querySelector('meta[http-equiv=refresh i]')?.content ?? '';
  return {
    boxes,
    lengths,
    hidden,
    outside,
    clippedBy,
    below,
    controls,
    spinner: spinner && { ...spinner, share: movingArea / sizeOf(view) },
    isChanging,
    urls: {
      images: urls(images.map((image) => image.currentSrc || image.src)),
      media: urls(
        media.flatMap((each) => [
          each.currentSrc,
          ...[...each.querySelectorAll('source')].map(({ src }) => src),
        ]),
      ),
      fonts: urls(fonts),
      handled: urls(handled),
      loads: urls(loads),
    },
    structure: {
      heading: one(document.querySelector('h1, h2')?.textContent, 200),
      sample: (document.body?.innerText ?? document.documentElement?.textContent ?? '').slice(0, 4_000),
      code: one(code, 2_000),
      links: links.length,
      namedLinks: named.length,
      controls: document.querySelectorAll('button, input, select, textarea').length,
      comments: one(
        [...(document.childNodes ?? []), ...(document.body?.childNodes ?? [])]
          .filter(
            ({ nodeType }) => nodeType === Node.COMMENT_NODE || nodeType === Node.PROCESSING_INSTRUCTION_NODE,
          )
          .map(({ data, target }) => (target === undefined ? data : `?${target} ${data}`))
          .join(' '),
        300,
      ),
    },
    hasDarkScheme:
      /dark/.test(getComputedStyle(document.documentElement).colorScheme) ||
      /dark/.test(document.querySelector('meta[name=color-scheme]')?.content ?? '') ||
      sheets.some(mentionsScheme),
    isMountFlat: [
      ...document.querySelectorAll('#root, #app, #__next, #__nuxt, #svelte, app-root, #main'),
    ].some((element) => element.childNodes.length === 0 && sizeOf(element.getBoundingClientRect()) === 0),
    scripts: document.scripts.length,
    refresh: refresh === '' ? null : Number.parseFloat(refresh) || 0,
    view: { width: innerWidth, height: innerHeight },
  };
})();
