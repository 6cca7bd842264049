# SPDX-License-Identifier: Apache-2.0
"""Tests how Rounds finds steps from calls, without any framework."""

from __future__ import annotations

import pytest

from weft._recording.rounds import Rounds
from weft._recording.settings import parse_steps


def ended(calls: str) -> str:
    """The calls, one letter each. A call that ends a step is followed by the number of the step."""
    rounds = Rounds()
    out = ""
    for call in calls:
        number = rounds.ended_step(ord(call))
        out += call + ("" if number is None else str(number))
    return out


def test_a_single_optimizer_ends_a_step_with_each_call() -> None:
    assert ended("aaaa") == "a0a1a2a3"


def test_the_last_of_several_ends_the_step_once_it_is_known() -> None:
    assert ended("abcabcabcabc") == "a0bca1bcabc2abc3"


def test_a_callable_that_is_called_rarely_ends_no_step() -> None:
    assert ended("aaaabaaaaab") == "a0a1a2a3ba4a5a6a7a8b"


def test_a_call_before_training_has_no_effect() -> None:
    assert ended("iaaaa") == "i0aaa2a3"


def test_evaluation_between_epochs_does_not_take_over() -> None:
    assert ended("aaaaaavvvvaa") == "a0a1a2a3a4a5vvvva6a7"


def test_a_new_optimizer_takes_over_when_it_was_called_more_often() -> None:
    assert ended("aaabbbbb") == "a0a1a2bbbb3b4"


@pytest.mark.parametrize("text", ["0..3", "5..4", "x", ""])
def test_impossible_steps_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_steps(text)
