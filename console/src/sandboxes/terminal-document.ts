/**
 * The document as the terminal sees it. It writes style sheets and style attributes as text, which the page's policy refuses; here the same text becomes a constructed sheet and
 * properties, which need no exception. What it makes besides is the document's own.
 */
export function terminalDocument(real: Document): Document {
  const create = (name: string) => {
    const element = name === 'style' ? styleSheet(real) : real.createElement(name);
    const setAttribute = element.setAttribute.bind(element);
    element.setAttribute = (attribute, value) => {
      if (attribute === 'style') element.style.cssText = value;
      else setAttribute(attribute, value);
    };
    return element;
  };
  return new Proxy(real, {
    get(target, property) {
      if (property === 'createElement') return create;
      const value = Reflect.get(target, property) as unknown;
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
    set: (target, property, value) => Reflect.set(target, property, value),
  });
}

/** Stands where a style element would, and holds its text in a sheet that the document adopts until it is removed. */
function styleSheet(real: Document): HTMLElement {
  const place = real.createElement('span');
  place.hidden = true;
  const sheet = new CSSStyleSheet();
  real.adoptedStyleSheets.push(sheet);
  Object.defineProperty(place, 'textContent', {
    get: () => '',
    set: (text: string) => sheet.replaceSync(text),
  });
  const remove = place.remove.bind(place);
  place.remove = () => {
    real.adoptedStyleSheets = real.adoptedStyleSheets.filter((each) => each !== sheet);
    remove();
  };
  return place;
}
