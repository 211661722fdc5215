export default 'Hello from the sandbox';
