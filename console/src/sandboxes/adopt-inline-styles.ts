let users = 0;

/**
 * From now on until the returned function is called: style sheets and style attributes that scripts
 * write as text become constructed sheets and properties. The page's policy refuses the former and
 * has nothing against the latter, and the terminal knows the former alone. What they look like is
 * the same.
 */
export function adoptInlineStyles(real: Document): () => void {
  users += 1;
  if (users === 1) {
    const make = Document.prototype.createElement.bind(real);
    real.createElement = (name: string, options?: ElementCreationOptions) => {
      if (name === 'style') return styleSheet(real, make('span'));
      const element = make(name, options);
      if (name === 'span') takeStyleAttribute(element);
      return element;
    };
  }
  return () => {
    users -= 1;
    // The document's own, which the prototype has, comes to light again.
    if (users === 0) Reflect.deleteProperty(real, 'createElement');
  };
}

function takeStyleAttribute(element: HTMLElement): void {
  const setAttribute = element.setAttribute.bind(element);
  element.setAttribute = (attribute, value) => {
    if (attribute === 'style') element.style.cssText = value;
    else setAttribute(attribute, value);
  };
}

/** Replaces a style element: its text goes into an adopted sheet until it is removed. */
function styleSheet(real: Document, place: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  const write = (text: string) => sheet.replaceSync(text);
  place.hidden = true;
  real.adoptedStyleSheets.push(sheet);
  for (const property of ['textContent', 'innerText']) {
    Object.defineProperty(place, property, { get: () => '', set: write });
  }
  const remove = place.remove.bind(place);
  place.remove = () => {
    real.adoptedStyleSheets = real.adoptedStyleSheets.filter((each) => each !== sheet);
    remove();
  };
  return place;
}
