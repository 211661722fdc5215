import heading from './heading.js';

const show = (text) => {
  document.querySelector('h1').textContent = text;
};
show(heading);
import.meta.hot?.accept('./heading.js', (module) => show(module.default));
