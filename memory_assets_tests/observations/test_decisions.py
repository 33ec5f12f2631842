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
        ("We should only ring the bell on unique ships", True),
        ("The bell only rings once", False),
        ("ok, I think our ships need explicit flags for the night", True),
        ("the harbor lights should be red when the gate is shut", True),
        ("The bell should ring.", False),
        ("this should be red when the gate is shut", False),
        ("so the order would need to be something like it was", False),
        ("we need a section on the gate in the guide", False),
        ("Let's move the bell into the other post of the yard", False),
        ("Let's rename gate.py", False),
        ("Let's move the bell into the config of gate.py", True),
        ("ignore the lack of a lock for now", False),
        ("skip 5, 7 and do the rest", False),
        ("can we hang the bell on the left post instead of the right one please?", True),
        ("can we hang it on the left post instead of the right one please?", False),
        ("I think we can drop the bell, and ring by voice instead", False),
        ("I think we can drop the bell, and ring by PagerDuty instead", True),
        ("I would prefer not to oil it again for this small change.", False),
        ("I don't want a lock that opens with only a key", True),
        ("given the salt in the air, I think it's better not to use iron for hinges", True),
        ("since they should hang on both posts already", False),
        ("this brings up the question of why the key must be iron, because it rusts", False),
        ("always close the gate after the last ship", True),
        ("It must never open at night.", False),
        ("let's use oak or pine for the gate", False),
        ("let's use the same wood for the gate", False),
        ("let's remove the mention of chain here", False),
        ("use the main branch of the gate instead of the new branch", False),
        ("lets do this instead", False),
        ("can you check whether the gate uses rope instead of chain?", False),
        ("The gate hangs on rope instead of chain in this picture, why?", False),
        ("don't paint the hinges in red", True),
        ("don't paint the hinges yet", False),
        ("you should not be working on the fence", False),
        ("That glow must be some kind of lamp, since it has a red rim.", False),
        ("The gate should clearly be red because it has a red rim", False),
        ("let's go with the second approach instead", False),
        ("don't ring the bell until the ship has been moored at the quay", True),
        ("update the changelog because the gate is new", False),
        ("We should look at the passes of the keepers again", False),
        ("Tell me where we should hang the bell of the gate", False),
        ("Analyse which of the gates should be added to the list", False),
        ("noo it should say that the gate is shut", False),
        ("never push the keys of the harbour to the yard", True),
        ("I don't want to use a paid key for the gate", True),
        ("I don't want to paint the gate of the harbour again", True),
        ("// the gate should be red when it is shut by voice", False),
        ("but should that bell have been hung there at all", False),
        ("we should move away from iron for the gate", True),
        ("let's get rid of it", False),
        ("if both ring, the bell should be the fallback", True),
        ("the goal is to replace the iron gate by one of oak", True),
        ("New standing rule: oil the gate each spring", True),
        ("I just want to oil the gate before the first ship", False),
        ("やっぱり門は白にしてください。", True),
        ("やっぱり鎖を使うのはやめて、縄を使います。", True),
        ("やっぱり動かない、エラーが出ます", False),
        ("やっぱりダメでした。門が開きません", False),
        ("やっぱり門がうるさいです", False),
        ("Sveltiaにしよう。", True),
        ("これにしよう。", False),
        ("Sveltiaにしようか、迷っています。", False),
        ("就用 Redis 缓存吧", True),
    ],
)
def test_what_the_human_wants_so_and_not_otherwise_is_a_decision(
    script: Make, said: str, decided: bool
) -> None:
    """What is used or taken instead of something else, what is done to a thing that has a name
    of its own, a rule, a constraint, and a proposal with its reason. A request, a complaint or a
    question without a choice is none."""
    assert bool(script().prompt(said).say("All right then.").observed("decision")) is decided


def test_a_decision_that_is_all_that_was_asked_is_told_once(script: Make) -> None:
    """Below the title that it is, too; what else was asked is told with it."""
    said = "Let's use rope instead of chain for the gate."
    (alone,) = script().prompt(said).say("All right then.").observed("decision")
    assert alone.narrative == f"The user said: {said}"
    both = script().prompt(f"Please hang the gate in the yard. {said}").say("All right then.")
    (decision,) = both.observed("decision")
    assert "Asked: Please hang the gate" in decision.narrative


OPTIONS = (
    "Three ways:\n\n- **A. Rope** — light and cheap to buy\n"
    "- **B. Chain** — lasts longer in salt water, and the smith has enough of it for both gates"
    " and the bell\n- **C. Wire (new)**\n\nWhich one?"
)
CHAIN = (
    "Chosen: Chain — lasts longer in salt water, and the smith has enough of it for both gates"
    " and the bell"
)


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("B", CHAIN),
        ("ok, let's do b for now", CHAIN),
        ("b makes sense to me", CHAIN),
        ("A and B", ""),
        ("B is what I had in mind, but tell me more first", ""),
        ("let's go with b. what would that look like?", ""),
        ("B, please hang it before the winter", CHAIN),
        ("Option B and then oil the hinges", CHAIN),
        ("B w/: small links, a lock", CHAIN),
        ("no, B", CHAIN),
        ("no B", ""),
        ("B hang it before the winter", ""),
        ("B loses messages on a crash, so no", ""),
        ("B is not acceptable, it is far too slow", ""),
        ("B would be wrong here because it loses data", ""),
        ("B. Never. It loses messages.", ""),
        ("B sounds like a nightmare to me", ""),
        ("B also has problems of its own", ""),
        ("B works only on dry land", ""),
        ("let's go with b. It never breaks", CHAIN),
        ("B please, no wait, that is slow", ""),
        ("B with the old smith failed last year", ""),
        ("Yes to B also oil the hinges, please", CHAIN),
        ("B tell me what it weighs", ""),
        ("do b walk along the quay before", ""),
        ("yes", ""),
        ("A", ""),
        ("C", ""),
        ("D", ""),
    ],
)
def test_options_that_the_human_picks_by_their_label_are_a_decision(
    script: Make, prompt: str, title: str
) -> None:
    """One of those that the turn before ended with, if it is described at length; both turns are
    named. Several are items that are done or not."""
    session = script().prompt("How shall the gate hang?").say(OPTIONS).prompt(prompt)
    made = session.say("All right.").observed("decision")
    assert [one.title for one in made] == ([title] if title else [])
    for one in made:
        assert one.turn_ids == ("session::s1::turn::0", "session::s1::turn::1")
        assert "among options. Asked: Which one?" in one.narrative
        assert one.text.count("lasts longer") == 1 and ".." not in one.text


@pytest.mark.parametrize(
    ("end", "prompt", "told"),
    [
        ("My recommendation is **B**. Which one?", "Yes", 1),
        ("I'd lean to option B. Proceed?", "go ahead", 1),
        ("I recommend **B**.", "yes", 0),
        ("I recommend **B**. Proceed?", "no", 0),
        ("I recommend a look at both. Proceed?", "yes", 0),
        ("I recommend B, shall I go ahead with B?", "yes", 1),
        ("I don't recommend A here. My recommendation is B. OK?", "yes", 1),
        ("I would not recommend B because it is slow. Shall I go ahead with A?", "yes", 0),
        ("I recommend against option B. Should I implement A then?", "yes", 0),
        ("I don't recommend B here. Want me to do A?", "yes", 0),
        ("My recommendation is not B but A. OK?", "yes", 0),
        ("I prefer to avoid B. Shall I do A?", "yes", 0),
        ("I recommend B. Do you want me to stop here?", "yes", 0),
        ("I recommend B. Should I use A?", "yes", 0),
        ("I recommend B or A. OK?", "yes", 0),
    ],
)
def test_an_option_that_was_recommended_is_chosen_by_a_yes(
    script: Make, end: str, prompt: str, told: int
) -> None:
    """If the agent asked."""
    message = OPTIONS.replace("Which one?", end)
    session = script().prompt("How shall the gate hang?").say(message).prompt(prompt).say("Fine.")
    assert [one.title for one in session.observed("decision")] == [CHAIN] * told


def test_a_decision_that_a_later_prompt_takes_back_is_none(script: Make) -> None:
    """What the prompt decides instead may be one; another matter takes nothing back."""
    said = "The gate of the harbor must never be painted white."
    session = script().prompt(said).say("Fine.").prompt("Actually, hang the bell higher up.")
    assert [one.title for one in session.say("Fine.").observed()] == [said]
    session.prompt("On second thought, let the gate of the harbor be painted white.").say("Fine.")
    assert session.observed() == []
    assert [one.title for one in session.prompt(said).say("Fine.").observed()] == [said]


@pytest.mark.parametrize(
    ("prompt", "holds"),
    [
        ("Let's go with the Padlock for the harbor gate.", False),
        ("Padlockにしよう。", False),
        ("Let's not use the Padlock for the harbor gate.", True),
        ("Let's use the Lantern for the harbor gate.", True),
    ],
)
def test_an_answer_is_none_once_what_it_did_not_take_is_chosen(
    script: Make, prompt: str, holds: bool
) -> None:
    """Of what its question named."""
    question = "Which lock should the gate use, Bolt or Padlock?"
    session = script().prompt("Build a gate please")
    session.call("AskUserQuestion", "questions: ...", f'{ASKED}"{question}"="Bolt"')
    titles = [one.title for one in session.prompt(prompt).say("Fine.").observed("decision")]
    assert (f"{question} → Bolt" in titles) is holds


@pytest.mark.parametrize(
    ("rule", "report"),
    [
        (
            "Never write the original files of the import to the network disk cache.",
            "Actually I just saw that the import wrote the original files to the network disk "
            "cache, fix it!",
        ),
        (
            "The gate of the harbor must never be painted white.",
            "Actually the gate of the harbor is still painted white, you must mend that",
        ),
        ("不要把原始文件写到网络磁盘缓存。", "还是把原始文件写到网络磁盘缓存了，报错"),
        (
            "The gate of the harbor must never be painted white.",
            "Actually the harbor has a gate painted white",
        ),
    ],
)
def test_a_report_that_a_decision_is_not_kept_takes_nothing_back(
    script: Make, rule: str, report: str
) -> None:
    """Only a prompt does that itself allows, forbids or uses something."""
    session = script().prompt(rule).say("Fine.").prompt(report).say("Oh.")
    assert rule in [one.title for one in session.observed("decision")]


def test_options_stand_in_tables_and_below_want_to(script: Make) -> None:
    """As agents lay them out, too."""
    chain = CHAIN.removeprefix("Chosen: Chain — ")
    message = (
        f"Want to:\n\n| | what |\n|--|--|\n| **A. Rope** | light |\n| **B. Chain** | {chain} |"
    )
    session = script().prompt("How shall the gate hang?").say(message).prompt("let's do b for now")
    (made,) = session.say("All right.").observed("decision")
    assert made.title.startswith("Chosen: Chain: lasts longer") and "|" not in made.title


@pytest.mark.parametrize(
    "message",
    [
        "1. Commit the gate\n2. Push it to the yard\n\nWhich one?",
        "1. The left gate of the yard\n2. The right gate\n\nWhich do you mean?",
        "1. Opened the gate\n2. Oiled its hinge",
        "1. Paint the gate of the yard\n2. Investigate why it squeaks\n\nWhich do you prefer?",
        "1. Paint the gate of the yard\n2. Oil the hinges of the gate\n\nIs the gate open?",
    ],
)
def test_a_label_that_decides_nothing_about_the_work_is_no_decision(
    script: Make, message: str
) -> None:
    """How to go on, what was meant, or a list that asks nothing."""
    session = script().prompt("The gate, please").say(message).prompt("2").say("All right.")
    assert session.observed("decision") == []


@pytest.mark.parametrize("said", ["no, it should stay as is", "let's go 100", "skip 5, 7 and 8"])
def test_a_decision_that_says_nothing_by_itself_is_none(script: Make, said: str) -> None:
    """Read later, without what was said before, it does not tell what was decided."""
    session = script().prompt("colours").say("Code blocks are blue now, and there are 14 of them.")
    assert session.prompt(said).say("Restored.").observed("decision") == []


def test_an_answer_given_to_codex_is_a_decision(script: Make) -> None:
    """Its questions are in the call, its answers in the result."""
    question = '"question":"Which lock should the \\"gate\\" use?","options":[]'
    asked = f'questions: [{{"id":"lock","header":"Lock",{question}}}]'
    answer = '{"answers":{"lock":{"answers":["Bolt (Recommended)"]}}}'
    session = script().prompt("Build a gate please").call("request_user_input", asked, answer)
    (made,) = session.observed("decision")
    assert made.title == 'Which lock should the "gate" use? → Bolt'
