"""A component that hangs is an error like any other; what waits in these tests waits for an event, not for the clock."""

from __future__ import annotations

import threading
import warnings

import pytest

from rag.errors import ComponentError
from rag.patience import GIVE_UP, Patience

SHORT = 0.05


def test_results_and_errors_pass_through() -> None:
    for seconds in (None, 60.0):
        patience = Patience(seconds)
        assert patience.call(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            patience.call(lambda: 1 // 0)


def test_without_a_limit_the_call_is_made_in_this_thread() -> None:
    assert Patience(None).call(threading.current_thread) is threading.current_thread()


def test_what_hangs_is_given_up_and_after_a_few_in_a_row_not_asked_again() -> None:
    never = threading.Event()
    calls: list[int] = []

    def hang() -> None:
        calls.append(1)
        never.wait()

    patience = Patience(SHORT)
    for _ in range(GIVE_UP):
        with pytest.raises(ComponentError, match=r"did not answer within 0\.05 s"):
            patience.call(hang)
    with pytest.raises(ComponentError, match=r"not asked: 3 calls before took longer than 0\.05 s"):
        patience.call(hang)
    assert len(calls) == GIVE_UP
    never.set()


def test_an_answer_in_between_is_a_new_beginning() -> None:
    never = threading.Event()
    patience = Patience(SHORT)
    for _ in range(GIVE_UP):
        with pytest.raises(ComponentError, match="did not answer"):
            patience.call(never.wait)
        assert patience.call(lambda: 1) == 1
    never.set()


def test_warnings_of_what_was_given_up_are_not_recorded_for_others() -> None:
    never, inside = threading.Event(), threading.Event()

    def hang() -> None:
        with warnings.catch_warnings(record=True):
            inside.set()
            never.wait()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ComponentError):
            Patience(SHORT).call(hang)
        assert inside.is_set()
        warnings.warn("still heard", UserWarning, stacklevel=1)
    assert [str(one.message) for one in caught] == ["still heard"]
    never.set()
