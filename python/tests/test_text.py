"""Text of output and files, whatever divides its bytes."""

from __future__ import annotations

from porthole.streams import Collected, CommandEvent, OutputEvent, OutputText, decode_text

TEXT = "\ufeffa é € 漢 😀"


def test_keeps_a_byte_order_mark_and_no_half_of_a_character() -> None:
    data = TEXT.encode()
    assert decode_text(data) == TEXT
    for limit in range(len(data)):
        cut = decode_text(data[:limit], is_cut=True)
        assert TEXT.startswith(cut)
        assert limit - len(cut.encode()) < 4


def test_collects_whole_characters_up_to_its_limit() -> None:
    collected = Collected(5)
    for data in (b"a\xe2", b"\x82\xac\xe2\x82", b"\xac"):
        collected.add(CommandEvent("stdout", data))
    collected.add(CommandEvent("stderr", b"\xe2"))
    collected.add(CommandEvent("exit", exit_code=0))
    result = collected.result()
    # Half a character that no limit divides is invalid, and shown so.
    assert (result.stdout, result.stderr, result.truncated) == ("a€", "\ufffd", True)


def test_joins_characters_that_events_divide() -> None:
    output = OutputText()
    out, err = TEXT.encode(), "ü".encode()
    output.add(OutputEvent("stderr", 0, err[:1]))
    for at in range(len(out)):
        output.add(OutputEvent("stdout", 0, out[at : at + 1]))
    output.add(OutputEvent("stderr", 0, err[1:]))
    output.add(OutputEvent("stdout", 0, b"\xe2"))
    output.add(OutputEvent("cut", 0, lost=7))
    output.add(OutputEvent("stdout", 0, b"\x82\xacz"))
    assert output.text() == f"{TEXT}üz"
