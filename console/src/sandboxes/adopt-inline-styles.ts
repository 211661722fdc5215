let users = 0;

/**
 * Until the returned function is called, style sheets and style attributes that scripts write as
 * text become constructed sheets and properties. CSP: the page's policy blocks the former and
 * allows the latter, and the terminal uses only the former. The appearance is the same.
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
    // Restores the document's own method, which is on the prototype.
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
