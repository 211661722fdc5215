/* oxlint-disable eslint/no-unused-expressions -- its value is what the evaluation gives */
/*
 * Reads what a framework's development build knows of an element: component and source. It runs in
 * the page's own world, where frameworks keep this, so the page decides what it returns: every
 * value is validated by the caller.
 */
(function component() {
  const MAX_PARENTS = 200;
  const text = (value) => (typeof value === 'string' && value !== '' ? value.slice(0, 400) : null);
  const number = (value) => (Number.isSafeInteger(Number(value)) && Number(value) > 0 ? Number(value) : null);
  const answer = (found) => ({
    component: null,
    file: null,
    line: null,
    column: null,
    stack: null,
    ...found,
  });
  const pathAndLine = (value) => {
    const [, file, line, column] = /^(.*?):(\d+)(?::(\d+))?$/.exec(value) ?? [];
    return file === undefined
      ? { file: text(value) }
      : { file: text(file), line: number(line), column: number(column) };
  };
  const react = (element) => {
    const key = Object.keys(element).find((name) => /^__reactFiber\$|^__reactInternalInstance\$/.test(name));
    if (key === undefined) return undefined;
    let source;
    let stack;
    let fiber = element[key];
    for (let left = MAX_PARENTS; fiber && left > 0; left -= 1) {
      source ??= fiber._debugSource;
      stack ??= fiber._debugStack?.stack;
      const type = fiber.type?.render ?? fiber.type?.type ?? fiber.type;
      const name = typeof type === 'function' ? type.displayName || type.name : undefined;
      if (name) {
        const { fileName, lineNumber, columnNumber } = source ?? {};
        return answer({
          component: text(name),
          file: text(fileName),
          line: number(lineNumber),
          column: number(columnNumber),
          stack: typeof stack === 'string' ? stack.slice(0, 8_000) : null,
        });
      }
      fiber = fiber.return;
    }
    return undefined;
  };
  const vue = (element) => {
    const type = (element.__vueParentComponent ?? element.__vnode?.ctx)?.type ?? element.__vue__?.$options;
    if (!type) return undefined;
    const file = text(type.__file);
    const fromFile = file === null ? null : text(/(?<![^/])([^/]+)\.\w+$/.exec(file)?.[1]);
    return answer({ component: text(type.name) ?? text(type.__name) ?? fromFile, file });
  };
  const svelte = (element) => {
    const at = element.__svelte_meta?.loc;
    if (!at) return undefined;
    const file = text(at.file);
    const [, name] = /(?<![^/])([^/]+)\.svelte$/.exec(file ?? '') ?? [];
    // Svelte 4 counts lines from 0 and has the position in `char`.
    const first = 'char' in at ? 1 : 0;
    return answer({
      component: text(name),
      file,
      line: number(at.line + first),
      column: number(at.column + 1),
    });
  };
  const angular = (element) => {
    const instance = globalThis.ng?.getOwningComponent?.(element) ?? globalThis.ng?.getComponent?.(element);
    return instance ? answer({ component: text(instance.constructor?.name) }) : undefined;
  };
  const attributes = (element) => {
    const file = element.getAttribute('data-astro-source-file');
    if (file !== null) {
      return answer(pathAndLine(`${file}:${element.getAttribute('data-astro-source-loc') ?? ''}`));
    }
    const where =
      element.getAttribute('data-v-inspector') ??
      element.getAttribute('data-source-loc') ??
      element.getAttribute('data-source');
    return where === null ? undefined : answer(pathAndLine(where));
  };
  for (let at = this, left = MAX_PARENTS; at !== null && left > 0; at = at.parentElement, left -= 1) {
    for (const read of [attributes, react, svelte, vue, angular]) {
      try {
        const found = read(at);
        if (found !== undefined) return found;
      } catch {
        // The page's own getters may throw.
      }
    }
  }
  return null;
});
