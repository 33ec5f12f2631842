"""The linear models that say what a decision is, and their weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.observations import answered, told
from memory_assets.observations.linear import ALWAYS, Linear
from memory_assets.redacted_text import compose


def test_a_thing_is_taken_from_the_sum_of_its_weights_of_zero_on(tmp_path: Path) -> None:
    """Figures without a weight count nothing, lines of remarks are none."""
    path = tmp_path / "weights.txt"
    path.write_text("# a remark\n-1.00\t<always>\n0.75\toak\n0.25\tof oak\n", encoding="utf-8")
    model = Linear(path)
    assert model.value({"oak", "gate"}) == -0.25
    assert model.takes({"oak", "of oak"}) and not model.takes({"oak"})


@pytest.mark.parametrize("path", [told.WEIGHTS, answered.WEIGHTS])
def test_weights_are_few_and_each_figure_has_one(path: Path) -> None:
    """So that a reader can go through them."""
    lines = path.read_text(encoding="utf-8").splitlines()
    features = [line.split("\t")[1] for line in lines if not line.startswith("#")]
    assert features[0] == ALWAYS
    assert len(features) == len(set(features)) <= 300


def test_a_sentence_is_seen_by_its_words_and_what_it_is_about() -> None:
    """Up to where a title is cut; one without any word of a choice is not looked at."""
    seen = told.features_of(compose("Use oak_gate.py instead of the old latch"))
    assert {"oak", "instead of", "<alternative>", "<imperative>", "<1 names>"} <= seen
    assert "<question>" not in seen
    assert told.features_of(compose("The gate hangs in the yard of the harbor")) == set()


def test_an_answer_is_seen_with_its_question() -> None:
    """What both are about, never their words."""
    seen = answered.features("Which lock should the gate use?", "Bolt")
    assert {"<asks for a choice>", "<few words>", "<a choice>"} <= seen
    assert all(feature.startswith("<") for feature in seen)
    assert "<a choice>" not in answered.features("Which lock should the gate use?", "Explain them")
