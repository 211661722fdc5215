export default defineEventHandler(async (event) => {
  const { name } = await readBody(event);
  setHeader(event, 'content-type', 'text/html');
  return `<h1>Hello, ${name}</h1><link rel="icon" href="data:,">`;
});
