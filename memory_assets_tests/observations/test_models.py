"""The linear model that says which answers decide something, and its weights."""

from __future__ import annotations

from pathlib import Path

from memory_assets.observations import answered
from memory_assets.observations.linear import ALWAYS, Linear


def test_a_thing_is_taken_from_the_sum_of_its_weights_of_zero_on(tmp_path: Path) -> None:
    """Figures without a weight count nothing, lines of remarks are none."""
    path = tmp_path / "weights.txt"
    path.write_text("# a remark\n-1.00\t<always>\n0.75\toak\n0.25\tof oak\n", encoding="utf-8")
    model = Linear(path)
    assert model.value({"oak", "gate"}) == -0.25
    assert model.takes({"oak", "of oak"}) and not model.takes({"oak"})


def test_weights_are_few_and_each_figure_has_one() -> None:
    """So that a reader can go through them."""
    lines = answered.WEIGHTS.read_text(encoding="utf-8").splitlines()
    features = [line.split("\t")[1] for line in lines if not line.startswith("#")]
    assert features[0] == ALWAYS
    assert len(features) == len(set(features)) <= 40


def test_an_answer_is_seen_with_its_question() -> None:
    """What both are about, never their words."""
    seen = answered.features("Which lock should the gate use?", "Bolt")
    assert {"<asks for a choice>", "<few words>", "<a choice>"} <= seen
    assert all(feature.startswith("<") for feature in seen)
    assert "<a choice>" not in answered.features("Which lock should the gate use?", "Explain them")
