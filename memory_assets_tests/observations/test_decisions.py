"""What counts as a decision in a session, and what does not."""

from __future__ import annotations

import pytest

from memory_assets_tests.observations.conftest import Make

ROOT = "/home/mara/code/harbor"


ASKED = "Your questions have been answered: "


@pytest.mark.parametrize(
    ("question", "answer", "decided"),
    [
        ("Which lock should the gate use?", "Bolt (Recommended)", True),
        ("How would you like to proceed?", "Skip the design", False),
        ("Should I start now?", "Yes", False),
        ("What is the address of the gate?", "Harbor Street", False),
    ],
)
def test_a_choice_that_the_human_made_is_a_decision(
    script: Make, question: str, answer: str, decided: bool
) -> None:
    """Not whether to go on, and not a fact that was asked for."""
    session = script().prompt("Build a gate please")
    session.call("AskUserQuestion", "questions: ...", f'{ASKED}"{question}"="{answer}"')
    titles = [one.title for one in session.observed("decision")]
    assert titles == ([f"{question} → Bolt"] if decided else [])


def test_an_approved_plan_is_a_decision(script: Make) -> None:
    """Under its heading."""
    session = script().prompt("Plan a gate please")
    plan = "plan:\n# Plan: A gate of oak\nOak lasts longest in salt water. We start with the hinge."
    session.call("ExitPlanMode", plan, "User has approved your plan. You can now start coding.")
    (made,) = session.observed("decision")
    assert made.title == "Plan approved: A gate of oak"
    assert "Oak lasts longest" in made.narrative


@pytest.mark.parametrize(
    ("said", "decided"),
    [
        ("Let's use oak instead of pine for the gate.", True),
        ("Should we use oak instead of pine?", False),
        ("Let's use oak if it is cheap enough maybe.", False),
    ],
)
def test_what_the_human_says_is_decided_is_a_decision(
    script: Make, said: str, decided: bool
) -> None:
    """A question or a doubt is none."""
    assert bool(script().prompt(said).say("All right then.").observed("decision")) is decided


@pytest.mark.parametrize(
    ("said", "decided"),
    [
        ("there should be only one way into the harbor", True),
        ("The gate must never open at night.", True),
        ("ignore the lack of a lock for now", True),
        ("skip 5, 7 and do the rest", False),
        ("can we hang it on the left post instead of the right one please?", True),
        ("I think we can drop the bell, and ring by voice instead", True),
        ("No, let's paint the gate first.", True),
        ("I would prefer not to oil it again for this small change.", True),
        ("let's keep going with the gate", False),
        ("lets do this instead", False),
        ("can you check whether the gate uses rope instead of chain?", False),
        ("The gate hangs on rope instead of chain in this picture, why?", False),
        ("Then let's make sure that everything is oiled.", False),
        ("let's make the gate a bit nicer", False),
        ("don't paint the hinges in red", False),
        ("you should not be working on the fence", False),
        ("let's go with the second approach instead", False),
        ("Great, let's go with your recommendation.", False),
    ],
)
def test_what_the_human_wants_so_and_not_otherwise_is_a_decision(
    script: Make, said: str, decided: bool
) -> None:
    """A request, a complaint or a question without a choice is none."""
    assert bool(script().prompt(said).say("All right then.").observed("decision")) is decided


def test_a_decision_that_is_all_that_was_asked_is_told_once(script: Make) -> None:
    """Below the title that it is, too; what else was asked is told with it."""
    said = "Let's use rope instead of chain for the gate."
    (alone,) = script().prompt(said).say("All right then.").observed("decision")
    assert alone.narrative == f"The user said: {said}"
    both = script().prompt(f"Please hang the gate in the yard. {said}").say("All right then.")
    (decision,) = both.observed("decision")
    assert "Asked: Please hang the gate" in decision.narrative


OPTIONS = "Two ways:\n\n- **A. Rope** — light and cheap\n- **B. Chain** — lasts\n\nWhich one?"


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("B", "Chosen: Chain — lasts"),
        ("ok, let's do b for now", "Chosen: Chain — lasts"),
        ("A and B", "Chosen: Rope — light and cheap, Chain — lasts"),
        ("B is what I had in mind, but tell me more first", ""),
        ("C", ""),
    ],
)
def test_options_that_the_human_picks_by_their_label_are_a_decision(
    script: Make, prompt: str, title: str
) -> None:
    """Of those that the turn before ended with; both turns are named."""
    session = script().prompt("How shall the gate hang?").say(OPTIONS).prompt(prompt)
    made = session.say("All right.").observed("decision")
    assert [one.title for one in made] == ([title] if title else [])
    for one in made:
        assert one.turn_ids == ("session::s1::turn::0", "session::s1::turn::1")
        assert "among options. Asked: Which one?" in one.narrative
        assert one.text.count("lasts") == 2 and ".." not in one.text


@pytest.mark.parametrize(
    "message",
    [
        "1. Commit the gate\n2. Push it to the yard\n\nWhich one?",
        "1. The left gate of the yard\n2. The right gate\n\nWhich do you mean?",
        "1. Opened the gate\n2. Oiled its hinge",
    ],
)
def test_a_label_that_decides_nothing_about_the_work_is_no_decision(
    script: Make, message: str
) -> None:
    """How to go on, what was meant, or a list that asks nothing."""
    session = script().prompt("The gate, please").say(message).prompt("2").say("All right.")
    assert session.observed("decision") == []


def test_a_decision_in_few_words_is_told_with_what_it_is_about(script: Make) -> None:
    """The sentence before it says that: the human's own, or the agent's last one."""
    session = script().prompt("colours").say("Code blocks are blue now.")
    (made,) = session.prompt("no, it should stay as is").say("Restored.").observed("decision")
    assert made.title == "Code blocks are blue now. → no, it should stay as is"
    (made,) = script().prompt("Scan fewer commits of main. let's go 100").observed("decision")
    assert made.title == "Scan fewer commits of main. → let's go 100"


def test_items_that_are_done_or_not_by_number_are_no_decision(script: Make) -> None:
    """What the items are is in a list far away."""
    session = script().prompt("review it").say("There are 14 comments on the change.")
    assert session.prompt("skip 5, 7, 8 and do the rest").observed("decision") == []


def test_an_answer_given_to_codex_is_a_decision(script: Make) -> None:
    """Its questions are in the call, its answers in the result."""
    question = '"question":"Which lock should the \\"gate\\" use?","options":[]'
    asked = f'questions: [{{"id":"lock","header":"Lock",{question}}}]'
    answer = '{"answers":{"lock":{"answers":["Bolt (Recommended)"]}}}'
    session = script().prompt("Build a gate please").call("request_user_input", asked, answer)
    (made,) = session.observed("decision")
    assert made.title == 'Which lock should the "gate" use? → Bolt'


def test_a_plan_given_as_the_prompt_is_a_decision(script: Make) -> None:
    """As plan mode writes it into a new context."""
    plan = "Implement the following plan:\n\n# A gate of oak\n\nOak lasts longest in salt water."
    (made,) = script().prompt(plan).say("All right.").observed("decision")
    assert made.title == "Plan approved: A gate of oak"


def test_what_the_human_says_to_refuse_a_call_is_a_decision(script: Make) -> None:
    """It is the only place where it stands."""
    refusal = (
        "The tool use was rejected. To tell you how to proceed, the user said:\nuse oak instead"
    )
    session = script().prompt("Build a gate please")
    session.call("Edit", "file_path: gate.py", f"{refusal} of pine", error=True)
    (made,) = session.observed("decision")
    assert made.title == "use oak instead of pine"


@pytest.mark.parametrize(
    ("said", "decided"),
    [
        ("Since the yard is wet, I'll hang it on chain rather than rope.", True),
        ("I'll keep the old latch because the neighbours know it well.", True),
        ("The simplest approach: use one hinge for both halves of the gate.", True),
        ("The user wants a chain instead of a rope for the gate.", True),
        ("I'll use grep since the agent needs to find every gate.", False),
        ("I'll open the file and look at the gate of the harbor.", False),
        ("The simplest approach would be either a rope or a chain.", False),
    ],
)
def test_what_the_agent_decides_while_it_works_is_a_decision(
    script: Make, said: str, decided: bool
) -> None:
    """With a reason or an alternative; how it goes about its work is none."""
    session = script().prompt("Hang the gate please").say(said)
    session.touch("Edit", f"{ROOT}/src/gate.py").say("The gate hangs.")
    assert bool(session.observed("decision")) is decided
