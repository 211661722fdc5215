/** Runs a Node tool in its sandbox, with `node -e`. Same protocol as the Python runner. */
export const NODE_RUNNER = String.raw`
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
  return own.join('\n').replaceAll('file://' + folder + '/', '').replaceAll(folder + '/', '').slice(-16384);
}

/** Where a module that cannot be read is wrong, only the parser says. */
function whereWrong() {
  const { spawnSync } = require('node:child_process');
  const { stderr } = spawnSync(process.execPath, ['--check', file], { timeout: 5000, maxBuffer: 65536, encoding: 'utf8' });
  const lines = (stderr ?? '').split('\n').filter((line) => !/^\s+at |^Node\.js v/.test(line));
  return lines.join('\n').trim().replaceAll(folder + '/', '').slice(-16384);
}

function codeError(error) {
  let told = 'It threw what cannot be read.';
  let frames = null;
  try {
    told = error instanceof Error ? error.name + ': ' + error.message : 'It threw ' + String(error);
    frames = error instanceof SyntaxError ? whereWrong() || ownFrames(error) : ownFrames(error);
  } catch {}
  fail('code_error', told, frames);
}

for (const { _handle } of [process.stdout, process.stderr]) _handle?.setBlocking?.(true);
process.on('uncaughtException', (error) => { codeError(error); end(); });
process.on('exit', (code) => {
  fail('code_error', code === 0 || code === 13
    ? 'It came to its end before ' + wanted + ' returned: what it awaits never settles, or it called process.exit.'
    : 'It called process.exit(' + code + ') before ' + wanted + ' returned.');
});

async function main() {
  fs.writeFileSync(path.join(folder, 'package.json'), '{}');
  fs.writeFileSync(file, request.source);
  const tool = await import(require('node:url').pathToFileURL(file).href);
  const run = tool[wanted] ?? tool.default?.[wanted] ?? (tool.default?.name === wanted ? tool.default : undefined);
  if (typeof run !== 'function') {
    return fail('bad_entrypoint', name + '.js exports no function ' + wanted + ': export it, or correct entrypoint.');
  }
  const result = await run(inputs, context);
  try {
    say({ result });
  } catch (error) {
    fail('bad_result', 'What it returned is not JSON: ' + error.message);
  }
}

main().catch(codeError).then(end);
`;

/**
 * Runs a Python tool in its sandbox, with `python3 -c` and the run's folder as its argument. The
 * folder has the input as `request.json` and the output as `result.json`, separate from what the
 * code prints. The tool's code can write that file too: it then counts as its result.
 */
export const PYTHON_RUNNER = `
import sys
sys.path[:] = [place for place in sys.path if place]
import importlib.util, inspect, json, os, traceback

folder = sys.argv[1]
sys.argv[:] = ['tool']
sys.dont_write_bytecode = True
with open(os.path.join(folder, 'request.json'), encoding='utf-8') as given:
    request = json.load(given)
module, name = request['module'], request['name']
context = request['context']
context['input_dir'] = os.path.join(folder, 'inputs')
context['session_dir'] = os.getcwd()
path = os.path.join(folder, module + '.py')

def say(answer):
    text = json.dumps(answer, allow_nan=False)
    part = os.path.join(folder, 'result.part')
    with open(part, 'w', encoding='ascii') as out:
        out.write(text)
    os.replace(part, os.path.join(folder, 'result.json'))

def end():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    # Threads that the code has left behind must not keep it from ending.
    os._exit(0)

def fail(code, message, frames=None):
    say({'error': {'code': code, 'message': message[:2000], 'traceback': frames}})
    end()

def own_frames(error):
    told = traceback.TracebackException.from_exception(error)
    rest, seen = [told], set()
    while rest:
        each = rest.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.stack[:] = [f for f in each.stack if f.filename != '<string>' and not f.filename.startswith('<frozen')]
        rest += [each.__cause__, each.__context__]
    text = ''.join(told.format()).replace(folder + os.sep, '')
    return text[-16384:]

def main():
    try:
        with open(path, 'w', encoding='utf-8', errors='surrogatepass') as out:
            out.write(request['source'])
        spec = importlib.util.spec_from_file_location(module, path)
        tool = importlib.util.module_from_spec(spec)
        sys.modules[module] = tool
        spec.loader.exec_module(tool)
        run = getattr(tool, name, None)
        if not callable(run):
            return fail('bad_entrypoint', f'{module}.py has no function {name}: define it, or correct entrypoint.')
        result = run(request['inputs'], context)
        if inspect.isawaitable(result):
            import asyncio
            async def settle():
                return await result
            result = asyncio.run(settle())
    except BaseException as error:
        return fail('code_error', f'{type(error).__name__}: {error}'.rstrip(': '), own_frames(error))
    try:
        say({'result': result})
    except BaseException as error:
        return fail('bad_result', f'What it returned is not JSON: {error}'[:500])
    end()

main()
`;
