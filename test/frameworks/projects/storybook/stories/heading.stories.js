import heading from './heading.js';

export default { title: 'Heading' };

export const Primary = {
  render: () => `<h1>${heading}</h1>
    <form method="post" action="/greet" target="_self"><input name="name"><button>Greet</button></form>`,
};
