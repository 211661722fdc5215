export default 'First version';
