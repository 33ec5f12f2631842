"""What counts as a decision in a session, and what does not."""

from __future__ import annotations

from memory_assets_tests.observations.conftest import Make
from memory_assets_tests.sweep import sweep

ROOT = "/home/mara/code/harbor"


ASKED = "Your questions have been answered: "


@sweep(
    "question, answer, decided",
    [
        ("Which lock should the gate use?", "Bolt (Recommended)", True),
        ("How would you like to proceed?", "Skip the design", False),
        ("Should I start now?", "Yes", False),
        ("What is the address of the gate?", "Harbor Street", False),
        ("Which phase should I build first?", "Bolt", False),
        ("Where should the merged gate live?", "New branch", False),
        ("Which gates should open?", "Everything", False),
        ("Which lock should the gate use?", "Explain the options to me", False),
        ("What is out of scope for this fix?", "The hinges", False),
        (
            "Which lock should the gate use?",
            "Bolt, as the neighbours have it, but larger" * 2,
            False,
        ),
    ],
)
def test_a_choice_that_the_human_made_is_a_decision(
    script: Make, question: str, answer: str, decided: bool
) -> None:
    """Not how to go on, not a fact that was asked for, and not an answer in the human's own words:
    a title has no room for it."""
    session = script().prompt("Build a gate please")
    session.call("AskUserQuestion", "questions: ...", f'{ASKED}"{question}"="{answer}"')
    titles = [one.title for one in session.observed("decision")]
    assert titles == ([f"{question} → Bolt"] if decided else [])


def test_an_approved_plan_is_no_decision(script: Make) -> None:
    """Its heading says what it is about; what was decided in it stands in no single sentence."""
    session = script().prompt("Plan a gate please")
    plan = "plan:\n# Plan: Build the gate of oak\nOak lasts longest in salt water."
    session.call("ExitPlanMode", plan, "User has approved your plan. You can now start coding.")
    assert session.observed("decision") == []


def test_a_decision_with_the_same_title_is_told_once_in_a_session(script: Make) -> None:
    """The first time."""
    said = "Let's use rope instead of chain for the gate."
    session = script().prompt(said).say("All right then.")
    first = session.observed("decision")
    assert session.prompt(said).say("It does.").observed("decision") == first


@sweep(
    "said, decided",
    [
        ("Let's use oak instead of pine for the gate.", True),
        ("Should we use oak instead of pine?", False),
        ("Let's use oak if it is cheap enough maybe.", False),
        ("there should be only one way into the harbor", True),
        ("The gate must never open at night.", True),
        ("We should only ring the bell on unique ships", True),
        ("The bell only rings once", False),
        ("the harbor lights should be red when the gate is shut", False),
        ("let's go with the Padlock for the harbor gate", False),
        ("ignore the lack of a lock for now", False),
        ("skip 5, 7 and do the rest", False),
        ("can we hang the bell on the left post instead of the right one please?", True),
        ("can we hang it on the left post instead of the right one please?", False),
        ("I think we can drop the bell, and ring by voice instead", False),
        ("I think we can drop the bell, and ring by PagerDuty instead", True),
        ("I would prefer not to oil it again for this small change.", False),
        ("I don't want a lock that opens with only a key", True),
        ("given the salt in the air, I think it's better not to use iron for hinges", True),
        ("this brings up the question of why the key must be iron, because it rusts", False),
        ("always close the gate after the last ship", True),
        ("It must never open at night.", False),
        ("let's use oak or pine for the gate", False),
        ("use the main branch of the gate instead of the new branch", False),
        ("lets do this instead", False),
        ("can you check whether the gate uses rope instead of chain?", False),
        ("The gate hangs on rope instead of chain in this picture, why?", False),
        ("don't paint the hinges in red", True),
        ("don't paint the hinges yet", False),
        ("eventually we are going to get rid of the iron gate", False),
        ("you should not be working on the fence", False),
        ("That glow must be some kind of lamp, since it has a red rim.", False),
        ("update the changelog because the gate is new", False),
        ("never push the keys of the harbour to the yard", True),
        ("I don't want to use a paid key for the gate", True),
        ("I don't want to paint the gate of the harbour again", True),
        ("if both ring, the bell should be the fallback", True),
        ("the goal is to replace the iron gate by one of oak", True),
        ("New standing rule: oil the gate each spring", True),
        ("I just want to oil the gate before the first ship", False),
        ("やっぱり門は白にしてください。", True),
        ("やっぱり鎖を使うのはやめて、縄を使います。", True),
        ("やっぱり動かない、エラーが出ます", False),
        ("やっぱりダメでした。門が開きません", False),
        ("やっぱり門がうるさいです", False),
    ],
)
def test_what_the_human_wants_so_and_not_otherwise_is_a_decision(
    script: Make, said: str, decided: bool
) -> None:
    """What is used or taken instead of something else, what is done to a thing that has a name
    of its own, a rule, and a constraint. A request, a complaint, a choice or a wish that later ones
    overtake, or a question is none."""
    assert bool(script().prompt(said).say("All right then.").observed("decision")) is decided


def test_a_decision_that_is_all_that_was_asked_is_told_once(script: Make) -> None:
    """Below the title that it is, too; what else was asked is told with it."""
    said = "Let's use rope instead of chain for the gate."
    (alone,) = script().prompt(said).say("All right then.").observed("decision")
    assert alone.narrative == f"The user said: {said}"
    both = script().prompt(f"Please hang the gate in the yard. {said}").say("All right then.")
    (decision,) = both.observed("decision")
    assert "Asked: Please hang the gate" in decision.narrative


def test_an_answer_given_to_codex_is_a_decision(script: Make) -> None:
    """Its questions are in the call, its answers in the result."""
    question = '"question":"Which lock should the \\"gate\\" use?","options":[]'
    asked = f'questions: [{{"id":"lock","header":"Lock",{question}}}]'
    answer = '{"answers":{"lock":{"answers":["Bolt (Recommended)"]}}}'
    session = script().prompt("Build a gate please").call("request_user_input", asked, answer)
    (made,) = session.observed("decision")
    assert made.title == 'Which lock should the "gate" use? → Bolt'
