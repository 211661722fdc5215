"""Messages of a kernel as the lines that clients read."""

import json
import time

# Characters of one line of text, and bytes of one result.
MAX_TEXT = 16 * 1024
MAX_RESULT = 6 * 1024 * 1024
# Bytes of the fields of a result that are not text.
MAX_DATA = 512 * 1024
# Characters of the parts of an error.
MAX_ERROR = 64 * 1024

_FIELDS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "e2b/data": "data",
    "e2b/chart": "chart",
}


def encode(line: dict) -> bytes:
    # Numbers that JSON does not have are null.
    try:
        return json.dumps(line, allow_nan=False).encode() + b"\n"
    except ValueError:
        return json.dumps(_finite(line)).encode() + b"\n"


def _finite(value):
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {str(key): _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, (list, tuple)) else value


def text_lines(name: str, text: str):
    for at in range(0, len(text), MAX_TEXT):
        yield encode({"type": name, "text": text[at : at + MAX_TEXT], "timestamp": time.time_ns()})


def error_line(name: str, value: str, traceback: str = "") -> bytes:
    parts = {"name": str(name)[:256], "value": str(value)[:MAX_ERROR], "traceback": traceback[-MAX_ERROR:]}
    return encode({"type": "error", **parts})


def result_line(data: dict, is_main: bool) -> bytes:
    fields: dict = {}
    extra: dict = {}
    for kind, value in data.items():
        name = _FIELDS.get(kind)
        if name is None:
            extra[kind] = value
        elif not isinstance(value, str) and len(encode({name: value})) > MAX_DATA:
            continue
        elif value is not None:
            fields[name] = value
    if extra and len(encode(extra)) <= MAX_DATA:
        fields["extra"] = extra
    text = fields.get("text")
    if isinstance(text, str) and len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        fields["text"] = text[1:-1]
    line = encode({"type": "result", "is_main_result": is_main, **fields})
    if len(line) <= MAX_RESULT:
        return line
    note = f"{fields.get('text', '')[:1_000]}\n[The result has {len(line)} bytes, and is left out: write it to a file.]"
    return encode({"type": "result", "is_main_result": is_main, "text": note})


def lines_of(message: dict):
    """The lines of a message; its type is one of Jupyter's messaging protocol."""
    kind, content = message["header"]["msg_type"], message["content"]
    if kind == "stream":
        yield from text_lines("stderr" if content["name"] == "stderr" else "stdout", content["text"])
    elif kind in ("display_data", "execute_result"):
        yield result_line(content["data"], kind == "execute_result")
    elif kind == "error":
        yield error_line(content["ename"], content["evalue"], "\n".join(content["traceback"]))
    elif kind == "execute_input":
        yield encode({"type": "number_of_executions", "execution_count": content["execution_count"]})
