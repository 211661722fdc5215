import heading from './heading.js';
import './accent.css';
import './style.css';

const loaded = Date.now();
let edits = 0;

function show(text) {
  document.querySelector('h1').textContent = text;
}

/** A reload would set both numbers back: that they go on is the proof that there was none. */
function prove() {
  const seconds = Math.round((Date.now() - loaded) / 1000);
  const changed =
    edits === 0 ? 'not edited since' : `edited ${edits === 1 ? 'once' : `${edits} times`} since`;
  document.querySelector('.proof').textContent = `Loaded ${seconds} s ago, ${changed}, reloaded never.`;
}

show(heading);
prove();
setInterval(prove, 1000);

if (import.meta.hot) {
  import.meta.hot.accept('./heading.js', (edited) => show(edited.default));
  import.meta.hot.on('vite:afterUpdate', () => {
    edits += 1;
    prove();
  });
}
