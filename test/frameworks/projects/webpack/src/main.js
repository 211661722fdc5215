import heading from './heading.js';

const show = () => {
  document.querySelector('h1').textContent = heading;
};
show();
module.hot.accept('./heading.js', show);
