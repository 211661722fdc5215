/* oxlint-disable eslint/no-unused-expressions -- its value is what the evaluation gives */
/*
 * Describes an element. Runs in the page's isolated world, so that the page's scripts can replace
 * none of what it calls.
 */
(function describe() {
  const MAX_STEPS = 12;
  const element = this;
  const root = element.getRootNode();
  const isOnly = (selector) => {
    const found = root.querySelectorAll(selector);
    return found.length === 1 && found[0] === element;
  };
  const byAttribute = ['id', 'data-testid', 'data-test', 'name', 'aria-label'].flatMap((name) => {
    const value = element.getAttribute(name);
    if (value === null || value === '' || value.length > 80 || /\p{C}/u.test(value)) return [];
    return [
      name === 'id'
        ? `#${CSS.escape(value)}`
        : `${element.localName}[${name}="${value.replace(/["\\]/g, '\\$&')}"]`,
    ];
  });
  const steps = [];
  for (let at = element; at !== null && steps.length < MAX_STEPS; at = at.parentElement) {
    const id = at.id === '' || at.id.length > 80 ? undefined : `#${CSS.escape(at.id)}`;
    const siblings = at.parentElement === null ? [] : [...at.parentElement.children];
    const alike = siblings.filter(({ localName }) => localName === at.localName);
    const nth = alike.length > 1 ? `:nth-of-type(${alike.indexOf(at) + 1})` : '';
    steps.unshift(id !== undefined && at !== element ? id : `${CSS.escape(at.localName)}${nth}`);
    if (steps[0].startsWith('#') || isOnly(steps.join(' > '))) break;
  }
  const { left, top, width, height } = element.getBoundingClientRect();
  return {
    selector: byAttribute.find(isOnly) ?? steps.join(' > '),
    box: { x: left + scrollX, y: top + scrollY, width, height },
  };
});
