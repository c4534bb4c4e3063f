"""Long dicts get a line for each entry; what somebody laid out, or commented, stays as it is."""

import libcst as cst
import pytest

from raymigrate.edits.layout import dict_one_per_line_if_long
from raymigrate.edits.positions import code_of

KEY = "a_key_of_the_settings_that_is_long_enough_for_half_a_line"


def laid_out(text: str) -> str:
    node = cst.parse_expression(text)
    assert isinstance(node, cst.Dict)
    once = dict_one_per_line_if_long(node)
    assert code_of(dict_one_per_line_if_long(once)) == code_of(once)
    return code_of(once)


def test_dicts_in_it_are_laid_out_too_where_they_are_long() -> None:
    inner = f'{{"{KEY}1": 1, "{KEY}2": {{"b": 2}}}}'
    expected = f'{{\n    "a": {{\n        "{KEY}1": 1,\n        "{KEY}2": {{"b": 2}},\n    }},\n    "c": {{}},\n}}'
    assert laid_out(f'{{"a": {inner}, "c": {{}}}}') == expected
    assert laid_out(f'{{"a": 1, **{inner}}}').count("\n") == 6


@pytest.mark.parametrize("place", ["outer", "inner"])
@pytest.mark.parametrize("comment", [", # why", "\n    # why\n    ,"])
def test_comments_stay(place: str, comment: str) -> None:
    entries = f'"{KEY}1": 1{comment}\n    "{KEY}2": 2'
    text = f"{{{entries}}}" if place == "outer" else f'{{"a": {{{entries}}}, "b": 3}}'
    assert laid_out(text) == text


def test_a_bracket_on_a_line_of_its_own_gets_no_second_one() -> None:
    assert laid_out(f'{{"{KEY}1": 1, "{KEY}2": 2,\n}}') == f'{{\n    "{KEY}1": 1,\n    "{KEY}2": 2,\n}}'
