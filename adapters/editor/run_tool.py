"""Runs a Python tool in its sandbox, with `python3 -c` and the run's folder as its argument.

The folder has the input as `request.json` and the output as `result.json`, separate from what the
code prints. The tool's code can write that file too: it then counts as its result.
"""
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
    chain = traceback.TracebackException.from_exception(error)
    rest, seen = [chain], set()
    while rest:
        each = rest.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.stack[:] = [f for f in each.stack if f.filename != '<string>' and not f.filename.startswith('<frozen')]
        rest += [each.__cause__, each.__context__]
    text = ''.join(chain.format()).replace(folder + os.sep, '')
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
