/* oxlint-disable typescript/no-floating-promises -- its value is what the evaluation gives */
/*
 * Measures what a visitor sees. Runs in the page's isolated world, so that the page's scripts can
 * replace none of what it calls. Every count is bounded: a page may have any number of elements.
 */
(async () => {
  const MAX_ELEMENTS = 20_000;
  const MAX_TEXT_CHARS = 6_000;
  const MAX_SAMPLES = 200;
  const MEDIA = new Set(['IMG', 'CANVAS', 'VIDEO', 'AUDIO', 'IFRAME', 'OBJECT', 'EMBED', 'SVG']);
  const CONTROL =
    'a[href], button, input, select, textarea, [role=button], [role=link], [contenteditable=true]';
  const SKIPPED = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'HEAD', 'TITLE']);
  const MOUNTS = ['#root', '#app', '#__next', '#__nuxt', '#svelte', '#___gatsby', 'app-root', '#main'];
  /** A sentence that goes on: "Loading docks" is a heading. */
  const LOADING = /^(?:loading|please wait|wird geladen|chargement)\b.{0,40}(?:…|\.\.\.)$/is;

  const one = (text, most) =>
    String(text ?? '')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, most);
  const nameOf = (element) => {
    const id = element.id === '' ? '' : `#${element.id}`;
    const kind = typeof element.className === 'string' ? element.className.trim().split(/\s+/)[0] : '';
    return one(`${element.localName}${id}${id === '' && kind ? `.${kind}` : ''}`, 80);
  };

  let elements = 0;
  let media = 0;
  let controls = 0;
  let textLength = 0;
  let clippedText = 0;
  let clippedBy = null;
  let busy = false;
  let truncated = false;
  let isPictured = false;
  let isSpinning = false;
  let badgeControls = 0;
  const pieces = [];
  /** Text that is not in a badge. */
  const content = [];
  const samples = [];

  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const intersect = (a, b) => ({
    left: Math.max(a.left, b.left),
    top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom),
  });
  const isEmpty = ({ left, top, right, bottom }) => right - left < 1 || bottom - top < 1;

  const isSpinner = (element) =>
    /spin|loader|loading/i.test(`${element.id} ${element.getAttribute('class') ?? ''}`) &&
    element
      .getAnimations()
      .some(
        ({ effect, playState }) =>
          playState === 'running' && effect?.getComputedTiming().endTime === Infinity,
      );
  const isSmall = ({ width, height }) => width < innerWidth / 3 && height < innerHeight / 3;

  /** A badge is a small fixed layer, for instance of a framework's developer tools. */
  const visit = (element, clip, clipper, inBadge) => {
    if (elements >= MAX_ELEMENTS) {
      truncated = true;
      return;
    }
    elements += 1;
    if (SKIPPED.has(element.tagName)) return;
    const isShown = shown(element);
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    if (style.display === 'none') return;
    const own = { left: box.left, top: box.top, right: box.right, bottom: box.bottom };
    const visible = isShown && !isEmpty(own) && !isEmpty(intersect(own, clip));
    if (visible && element.getAttribute('aria-busy') === 'true') busy = true;
    const tag = element.tagName.toUpperCase();
    if (visible && MEDIA.has(tag)) {
      const isBroken = tag === 'IMG' && element.complete && element.naturalWidth === 0;
      if (!isBroken) media += 1;
      isPictured ||= !isBroken && !isSmall(box);
    }
    const isBadge = inBadge || (style.position === 'fixed' && isSmall(box));
    const isControl = element.matches(CONTROL);
    if (visible && isControl) controls += 1;
    if (visible && isControl && isBadge) badgeControls += 1;
    isSpinning ||= visible && !isBadge && isSpinner(element);
    if (visible && isControl && samples.length < MAX_SAMPLES) samples.push([element, box]);
    let inner = clip;
    let by = clipper;
    if (style.overflowX !== 'visible' || style.overflowY !== 'visible') {
      if (element !== document.body && element !== document.documentElement) {
        const narrowed = intersect(clip, own);
        if (isEmpty(narrowed) && !isEmpty(clip)) by = nameOf(element);
        inner = narrowed;
      }
    }
    if (tag === 'SVG') return;
    if (isControl && visible && 'value' in element && element.value !== '') textLength += 1;
    for (const child of (element.shadowRoot ?? element).childNodes) {
      if (child.nodeType === Node.TEXT_NODE && child.data.trim() !== '') {
        if (isShown && !isEmpty(inner)) {
          const text = child.data.replace(/\s+/g, ' ').trim();
          if (textLength < MAX_TEXT_CHARS) {
            pieces.push(text);
            if (!isBadge) content.push(text);
          }
          textLength += text.length;
          if (samples.length < MAX_SAMPLES && visible) samples.push([element, box]);
        } else if (isShown && isEmpty(inner)) {
          clippedText += child.data.trim().length;
          clippedBy ??= by;
        }
      } else if (child.nodeType === Node.ELEMENT_NODE) visit(child, inner, by, isBadge);
    }
    if (element.shadowRoot !== null) {
      for (const child of element.children) if (child.assignedSlot !== null) visit(child, inner, by, isBadge);
    }
  };

  const everywhere = { left: -1e9, top: -1e9, right: 1e9, bottom: 1e9 };
  if (document.body !== null) visit(document.body, everywhere, null, false);

  /* One element without own content over every text and control in the viewport. */
  let coveredBy = null;
  const inView = samples.filter(
    ([, box]) =>
      box.left + box.width / 2 >= 0 &&
      box.top + box.height / 2 >= 0 &&
      box.left + box.width / 2 < innerWidth &&
      box.top + box.height / 2 < innerHeight,
  );
  const covers = new Set();
  for (const [element, box] of inView) {
    const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    const isOwn = top === null || top === element || element.contains(top) || top.contains(element);
    covers.add(isOwn || element.getRootNode() !== document ? null : top);
    if (covers.has(null)) break;
  }
  const [cover] = covers;
  if (covers.size === 1 && cover !== null && one(cover.textContent, 9) === '') coveredBy = nameOf(cover);

  const text = one(pieces.join(' '), MAX_TEXT_CHARS);
  const isOnlySpinner = isSpinning && content.length === 0 && controls > 0 && controls === badgeControls;
  const isLoading = LOADING.test(text) || (!isPictured && (isOnlySpinner || LOADING.test(content.join(' '))));
  const mount = MOUNTS.map((selector) => document.querySelector(selector)).find(
    (element) => element !== null && element.childElementCount === 0 && one(element.textContent, 9) === '',
  );

  /* What frameworks show of an error, each by its own marks. */
  const overlays = [];
  const say = (root, ...selectors) => {
    for (const selector of selectors) {
      const found = root.querySelector(selector);
      const words = found === null ? '' : one(found.value ?? found.innerText ?? found.textContent, 1_000);
      if (words !== '') return words;
    }
    return '';
  };
  const add = (framework, message, file = '') => {
    if (message !== '') overlays.push({ framework, message: one(message, 2_000), file: one(file, 1_500) });
  };
  for (const element of document.querySelectorAll('vite-error-overlay')) {
    const root = element.shadowRoot;
    if (root === null) continue;
    add(
      root.querySelector('#message-content') === null ? 'Vite' : 'Astro',
      say(root, '.message-body', '.message', '#message-content', '#message', 'h1'),
      say(root, '.file', '#code header', '.frame'),
    );
  }
  for (const element of document.querySelectorAll('nextjs-portal')) {
    const root = element.shadowRoot;
    const dialog = root?.querySelector('[data-nextjs-dialog], [data-nextjs-dialog-overlay], [role=dialog]');
    if (dialog == null) continue;
    const words = say(
      dialog,
      '#nextjs__container_errors_desc',
      '[data-nextjs-error-message]',
      '.nextjs__container_errors_desc',
      '[data-nextjs-terminal]',
      'h1',
      'p',
    );
    add('Next.js', words, one(dialog.innerText, 1_500));
  }
  for (const frame of document.querySelectorAll(
    'iframe#webpack-dev-server-client-overlay, iframe[style*="2147483647"]',
  )) {
    const body = frame.contentDocument?.body;
    // Uncaught errors are reported with their frames in the source.
    const words = body == null ? '' : one(body.innerText, 1_000);
    if (!/Uncaught runtime error/.test(words)) add('webpack', words, words);
  }
  for (const element of document.querySelectorAll('nuxt-error-overlay')) {
    // A frame of a data URL, which has an opaque origin.
    const { src = '' } = element.shadowRoot?.querySelector('iframe') ?? {};
    const [, coded = ''] = /^data:text\/html;base64,(.{1,4000000})$/.exec(src) ?? [];
    const bytes = Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0));
    const inner = new DOMParser().parseFromString(new TextDecoder().decode(bytes), 'text/html');
    for (const unread of inner.querySelectorAll('script, style, svg, head')) unread.remove();
    const frame = inner.querySelector('.stack-frame-app') ?? inner.querySelector('.stack-frame');
    const name = frame?.querySelector('.stack-frame-filepath')?.title;
    const [, line] = /at line\s*(\d+)/.exec(frame?.textContent) ?? [];
    // Its line in a component is that of the code which the compiler made (nuxt#36258).
    const place = name?.endsWith('.vue') ? name : `File "${name}", line ${line}`;
    add('Nuxt', say(inner, '#error-message', 'body'), line === undefined ? '' : place);
  }
  if (document.querySelector('#summary .exception_value') !== null) {
    const trace = document.querySelector('#traceback_area')?.value ?? '';
    const [, template, line] = /^In template (.+), error at line (\d+)$/m.exec(trace) ?? [];
    add(
      'Django',
      say(document, '#summary h1') + ': ' + say(document, '#summary .exception_value'),
      template === undefined ? trace.slice(-600) : `File "${template}", line ${line}`,
    );
  } else if (document.querySelector('div.debugger .errormsg, div.debugger blockquote') !== null) {
    add(
      'Flask',
      say(document, '.errormsg', '.debugger h1'),
      document.querySelector('.plain textarea, .plain pre')?.textContent.slice(-600),
    );
  } else if (document.title.startsWith('Action Controller: Exception')) {
    add(
      'Rails',
      say(document, '#container h2', 'h2', 'header h1'),
      say(document, '.trace-frames', '.source'),
    );
  }
  for (const element of document.querySelectorAll('[data-testid=stException]')) {
    add(
      'Streamlit',
      say(element, '[data-testid=stExceptionMessage]', '.message') || one(element.innerText, 600),
      one(element.innerText, 600),
    );
  }
  const storybook = document.querySelector('body.sb-show-errordisplay #error-message');
  if (storybook !== null) add('Storybook', one(storybook.textContent, 1_000));

  const timings = await new Promise((resolve) => {
    const [navigation] = performance.getEntriesByType('navigation');
    const paint = performance.getEntriesByName('first-contentful-paint')[0];
    const times = {
      ttfbMs: navigation === undefined ? null : Math.round(navigation.responseStart),
      fcpMs: paint === undefined ? null : Math.round(paint.startTime),
      lcpMs: null,
      loadMs:
        navigation === undefined || navigation.loadEventEnd === 0
          ? null
          : Math.round(navigation.loadEventEnd),
    };
    try {
      const observer = new PerformanceObserver((list) => {
        times.lcpMs = Math.round(list.getEntries().at(-1).startTime);
        observer.disconnect();
        resolve(times);
      });
      observer.observe({ type: 'largest-contentful-paint', buffered: true });
    } catch {
      resolve(times);
    }
    setTimeout(() => resolve(times), 40);
  });

  return {
    facts: {
      title: one(document.title, 300),
      text,
      textLength,
      media,
      controls,
      clippedText,
      clippedBy,
      coveredBy,
      emptyMount: mount === undefined ? null : nameOf(mount),
      loading: textLength < 60 && (isLoading || (busy && controls === 0)),
      elements,
      truncated,
    },
    overlays,
    timings,
    contentType: document.contentType,
  };
})();
