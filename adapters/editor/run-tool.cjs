/**
 * Runs a Node tool in its sandbox, with `node -e` and the run's folder as its argument. Same
 * protocol as the Python program.
 */
const fs = require('node:fs');
const path = require('node:path');
const folder = process.argv[1];
process.argv.length = 1;
const request = JSON.parse(fs.readFileSync(path.join(folder, 'request.json'), 'utf8'));
const { module: name, name: wanted, inputs, context } = request;
context.input_dir = path.join(folder, 'inputs');
context.session_dir = process.cwd();
const file = path.join(folder, name + '.js');
let isSaid = false;

function say(answer) {
  const text = JSON.stringify(answer);
  const part = path.join(folder, 'result.part');
  fs.writeFileSync(part, text);
  fs.renameSync(part, path.join(folder, 'result.json'));
  isSaid = true;
}

function fail(code, message, traceback = null) {
  if (!isSaid) say({ error: { code, message: String(message).slice(0, 2000), traceback } });
}

// What the code has left behind must not keep it from ending, and what it has printed must not be
// lost.
async function end() {
  const out = [process.stdout, process.stderr];
  await Promise.all(out.map((stream) => new Promise((done) => stream.write('', () => done()))));
  process.reallyExit(0);
}

function ownFrames(error) {
  const lines = String(error?.stack ?? error).split('\n');
  const own = lines.filter((line) => !/^\s+at .*(?:\[eval\]|node:|\[worker eval\])/.test(line));
  return own
    .join('\n')
    .replaceAll('file://' + folder + '/', '')
    .replaceAll(folder + '/', '')
    .slice(-16384);
}

/** Where a module that cannot be read is wrong, only the parser says. */
function whereWrong() {
  const { spawnSync } = require('node:child_process');
  const { stderr } = spawnSync(process.execPath, ['--check', file], {
    timeout: 5000,
    maxBuffer: 65536,
    encoding: 'utf8',
  });
  const lines = (stderr ?? '').split('\n').filter((line) => !/^\s+at |^Node\.js v/.test(line));
  return lines
    .join('\n')
    .trim()
    .replaceAll(folder + '/', '')
    .slice(-16384);
}

function codeError(error) {
  let message = 'It threw what cannot be read.';
  let frames = null;
  try {
    message = error instanceof Error ? error.name + ': ' + error.message : 'It threw ' + String(error);
    frames = error instanceof SyntaxError ? whereWrong() || ownFrames(error) : ownFrames(error);
  } catch {}
  fail('code_error', message, frames);
}

for (const { _handle } of [process.stdout, process.stderr]) _handle?.setBlocking?.(true);
process.on('uncaughtException', (error) => {
  codeError(error);
  void end();
});
process.on('exit', (code) => {
  fail(
    'code_error',
    code === 0 || code === 13
      ? 'It came to its end before ' +
          wanted +
          ' returned: what it awaits never settles, or it called process.exit.'
      : 'It called process.exit(' + code + ') before ' + wanted + ' returned.',
  );
});

async function main() {
  fs.writeFileSync(path.join(folder, 'package.json'), '{}');
  fs.writeFileSync(file, request.source);
  const tool = await import(require('node:url').pathToFileURL(file).href);
  const run =
    tool[wanted] ?? tool.default?.[wanted] ?? (tool.default?.name === wanted ? tool.default : undefined);
  if (typeof run !== 'function') {
    return fail(
      'bad_entrypoint',
      name + '.js exports no function ' + wanted + ': export it, or correct entrypoint.',
    );
  }
  const result = await run(inputs, context);
  try {
    say({ result });
  } catch (error) {
    fail('bad_result', 'What it returned is not JSON: ' + error.message);
  }
}

void main().catch(codeError).then(end);
