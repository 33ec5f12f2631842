"""What a session and a human do to a repository in `commits.py`; each notes the truth."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from benchmarks.commit_world import Session, World


def printed(world: World, session: Session) -> str:
    """The session edits and commits, and git says so."""
    world.switch(session.branch)
    path = world.new_path()
    world.edit(session, path, world.code(6))
    subject = f"Add the {world.word()} {world.word()}"
    trailer = f"\n\nClaude-Session: {session.trailer}" if session.trailer else ""
    command = f"git add {path} && git commit -m \"$(cat <<'EOF'\n{subject}{trailer}\nEOF\n)\""

    def act() -> str:
        world.git("add", path)
        return world.git("commit", "-m", subject + trailer)

    world.run(session, command, act)
    sha = world.head()
    world.truth(sha, {session.id}, "printed")
    return sha


def quiet(world: World, session: Session) -> None:
    """Git is told to be quiet."""
    world.switch(session.branch)
    path = world.new_path()
    world.edit(session, path, world.code(4))
    subject = f"Tidy the {world.word()} of {world.word()}"

    def act() -> str:
        world.git("add", path)
        return world.git("commit", "--quiet", "-m", subject)

    world.run(session, f'git add {path} && git commit -q -m "{subject}"', act)
    world.truth(world.head(), {session.id}, "quiet")


def by_script(world: World, session: Session) -> None:
    """A script commits, and prints what git says."""
    world.switch(session.branch)
    path = world.new_path()

    def act() -> str:
        world.save(path, world.code(3))
        world.git("add", path)
        return "releasing\n" + world.git("commit", "-m", f"Release {world.word()}")

    world.run(session, "make release", act)
    world.truth(world.head(), {session.id}, "by script")


def amended(world: World, session: Session) -> None:
    """The session amends its own commit."""
    printed(world, session)
    path = world.new_path()
    world.edit(session, path, world.code(3))

    def act() -> str:
        world.git("add", path)
        return world.git("commit", "--amend", "--no-edit")

    world.run(session, f"git add {path} && git commit --amend --no-edit", act)
    world.truth(world.head(), {session.id}, "amended")


def amended_by_human(world: World, session: Session) -> None:
    """The human rewords the session's commit an hour later."""
    printed(world, session)
    world.pass_time(3600)
    authored = world.git("log", "-1", "--format=%at").strip()
    when = world.now.fromtimestamp(int(authored), world.now.tzinfo)
    world.git("commit", "--quiet", "--amend", "-m", f"Reworded {world.word()}", author=when)
    world.truth(world.head(), {session.id}, "amended by human")


def rebased(world: World, session: Session) -> None:
    """The human rebases a branch of the session's and his own commits."""
    branch = f"rebase-{world.random.randint(0, 10**9)}"
    kept, session.branch = session.branch, branch
    for _ in range(world.random.randint(1, 3)):
        printed(world, session)
    world.save(world.new_path(), world.code(4))
    world.commit(f"By the way {world.word()}", set(), "human")
    session.branch = kept
    world.switch("main")
    world.save(world.new_path(), world.code(2))
    world.commit(f"Meanwhile {world.word()}", set(), "human")
    world.switch(branch)
    before = world.git("rev-list", "--reverse", "main..HEAD").split()
    world.pass_time(7200)
    world.git("rebase", "--quiet", "main")
    after = world.git("rev-list", "--reverse", "main..HEAD").split()
    for old, new in zip(before, after, strict=True):
        must = world.must[old]
        world.truth(new, must, "rebased" if must else "rebased, human's")


def squashed(world: World, session: Session) -> None:
    """The human squashes a branch of the session's commits into one on main."""
    branch = f"squash-{world.random.randint(0, 10**9)}"
    kept, session.branch = session.branch, branch
    for _ in range(world.random.randint(2, 4)):
        printed(world, session)
    session.branch = kept
    world.switch("main")
    world.pass_time(5000)
    world.git("merge", "--squash", "--quiet", branch)
    if world.random.random() < 0.5:
        subject = f"Everything about the {world.word()} (#{world.random.randint(1, 99)})"
        world.git("commit", "--quiet", "-m", subject)
    else:
        world.git("commit", "--quiet", "--no-edit")
    world.truth(world.head(), {session.id}, "squashed")


def cherry_picked(world: World, session: Session) -> None:
    """The human takes the session's commit over to a release branch."""
    sha = printed(world, session)
    root = world.git("rev-list", "--max-parents=0", "main").split()[0]
    world.git("switch", "--quiet", "-c", f"release-{sha[:10]}", root)
    world.pass_time(9000)
    world.git("cherry-pick", *(["-x"] if world.random.random() < 0.5 else []), sha)
    world.truth(world.head(), {session.id}, "cherry-picked")


def reverted(world: World, session: Session) -> None:
    """The human reverts the session's commit: nothing that the session did."""
    sha = printed(world, session)
    world.pass_time(1500)
    world.git("revert", "--no-edit", sha)
    world.truth(world.head(), set(), "reverted by human")


def reverts(world: World, session: Session) -> None:
    """The session reverts what the human committed."""
    world.switch(session.branch)
    world.save(world.new_path(), world.code(4))
    sha = world.commit(f"Try the {world.word()}", set(), "human")
    world.run(
        session, f"git revert --no-edit {sha[:8]}", lambda: world.git("revert", "--no-edit", sha)
    )
    world.truth(world.head(), {session.id}, "session reverts")


def beside(world: World, session: Session) -> None:
    """The human commits in other files while the session edits and commits its own."""
    world.switch(session.branch)
    mine, theirs = world.new_path(), world.new_path()
    world.edit(session, mine, world.code(5))
    world.save(theirs, world.code(5))
    world.git("add", theirs)
    world.git("commit", "--quiet", "-m", f"Human work on {world.word()}")
    world.truth(world.head(), set(), "human beside")
    world.pass_time(5)
    subject = f"Add {world.word()} for {world.word()}"

    def act() -> str:
        world.git("add", mine)
        return world.git("commit", "-m", subject)

    world.run(session, f'git add {mine} && git commit -m "{subject}"', act)
    world.truth(world.head(), {session.id}, "printed")


def same_file(world: World, session: Session) -> None:
    """The human writes other lines into the file that the session edited, and commits all;
    most of them are the human's."""
    world.switch(session.branch)
    path = world.new_path()
    world.edit(session, path, world.code(2))
    world.save(path, world.code(8))
    world.commit(f"Rewrite {world.word()}", set(), "human in same file", may=set())
    world.save(path, world.code(3))
    world.commit(f"More of {world.word()}", set(), "human in same file")


def by_human(world: World, session: Session) -> None:
    """The session edits; the human looks at it and commits."""
    world.switch(session.branch)
    for _ in range(world.random.randint(1, 3)):
        world.edit(session, world.new_path(), world.code(5))
    world.pass_time(world.random.choice([60, 3000, 80_000]))
    world.commit(f"Improve the {world.word()}", {session.id}, "session's lines, human's commit")


def mostly_session(world: World, session: Session) -> None:
    """The human touches up what the session wrote, then commits."""
    world.switch(session.branch)
    path = world.new_path()
    world.edit(session, path, world.code(9))
    world.save(path, world.code(2))
    world.pass_time(600)
    world.commit(f"Polish the {world.word()}", {session.id}, "touched up by human")


def two_at_once(world: World, session: Session) -> None:
    """Two sessions edit in turns in one working tree, and each commits its own."""
    other = world.sessions[world.random.randrange(len(world.sessions))]
    if other is session:
        return
    world.switch("main")
    mine, theirs = world.new_path(), world.new_path()
    world.edit(session, mine, world.code(4))
    world.edit(other, theirs, world.code(4))
    for who, path in ((session, mine), (other, theirs)):
        subject = f"Add {world.word()} to {world.word()}"

        def act(path: str = path, subject: str = subject) -> str:
            world.git("add", path)
            return world.git("commit", "-m", subject)

        world.run(who, f'git add {path} && git commit -m "{subject}"', act)
        world.truth(world.head(), {who.id}, "two at once")


def one_commits_both(world: World, session: Session) -> None:
    """One of two sessions commits what both wrote: its commit; the other may be named."""
    other = world.sessions[world.random.randrange(len(world.sessions))]
    if other is session:
        return
    world.switch("main")
    world.edit(session, world.new_path(), world.code(3))
    world.edit(other, world.new_path(), world.code(6))
    subject = f"All of the {world.word()}"

    def act() -> str:
        world.git("add", "--all")
        return world.git("commit", "-m", subject)

    world.run(session, f'git add -A && git commit -m "{subject}"', act)
    world.truth(world.head(), {session.id}, "one commits both", may={other.id})


def mentioned(world: World, session: Session) -> None:
    """Logs and files quote commits of others: proves nothing."""
    world.switch("main")
    world.save(world.new_path(), world.code(3))
    world.git("add", "--all")
    said = world.git("commit", "-m", f"Human again on {world.word()}")
    world.truth(world.head(), set(), "human")
    world.pass_time(30)
    listed = world.git("log", "--oneline", "-8")
    session.call(world.pass_time(), "Bash", {"command": "git log --oneline -8"}, listed)
    session.call(world.pass_time(), "Bash", {"command": "cat build.log"}, f"step 3\n{said}ok\n")
    session.call(
        world.pass_time(), "Bash", {"command": "grep -rn 'git commit' docs; cat ci.log"}, said
    )
    session.prompt(world.pass_time(), f"Is {world.head()[:7]} the culprit? {said.splitlines()[0]}")
    session.call(
        world.pass_time(), "Bash", {"command": "git show HEAD --stat"}, f"commit {world.head()}\n"
    )


def failing_commit(world: World, session: Session) -> None:
    """The session's commit is refused, its output quotes an older one."""
    said = f"[main {world.head()[:7]}] {world.git('log', '-1', '--format=%s')}"
    session.call(
        world.pass_time(),
        "Bash",
        {"command": "cat last.log; git commit -m 'Not yet'"},
        f"{said}On branch main\nnothing to commit, working tree clean\n",
    )


def colliding(world: World, session: Session) -> None:
    """A commit of the session's and a later one of the human's share seven digits."""
    world.switch("main")
    began = world.pass_time()
    world.now += timedelta(seconds=1)
    first, second = world.collide(f"Note the {world.word()}")
    subject = world.git("log", "-1", "--format=%s", first).strip()
    said = f"[first {first[:7]}] {subject}\n"
    session.call(began, "Bash", {"command": f"git commit --allow-empty -m '{subject}'"}, said)
    world.truth(first, {session.id}, "colliding")
    world.truth(second, set(), "colliding, human")


def same_words(world: World, session: Session) -> None:
    """The human commits elsewhere, in the same second and with the same subject."""
    world.switch("main")
    path = world.new_path()
    world.edit(session, path, world.code(4))

    def act() -> str:
        world.git("add", path)
        return world.git("commit", "-m", "wip")

    world.run(session, f"git add {path} && git commit -m wip", act, seconds=8.0)
    world.truth(world.head(), {session.id}, "printed")
    world.now -= timedelta(seconds=8)
    world.git("switch", "--quiet", "-c", f"elsewhere-{world.random.randint(0, 10**9)}")
    world.save(world.new_path(), world.code(4))
    world.commit("wip", set(), "human, same words, same second")


def moved(world: World, session: Session) -> None:
    """The human moves the session's committed file, and copies lines of it to another."""
    printed(world, session)
    files = world.git("show", "--name-only", "--format=", "HEAD").split()
    world.pass_time(900)
    world.git("mv", files[0], f"{files[0]}.moved")
    world.commit("Move a file", set(), "human moves", may={session.id})
    lines = (world.directory / f"{files[0]}.moved").read_text().splitlines()
    world.save("docs/examples.txt", [*lines[:3], *world.code(4)])
    world.commit("Show examples", set(), "human copies", may=set())


def pull_request(world: World, session: Session) -> None:
    """The session opens a pull request; it is merged by squash on the server. Another one of
    that number in another project is only talked of."""
    branch = f"pr-{world.random.randint(0, 10**9)}"
    kept, session.branch = session.branch, branch
    printed(world, session)
    number = world.random.randint(100, 10**6)
    address = f"https://github.com/mara/harbor/pull/{number}"
    session.call(
        world.pass_time(), "Bash", {"command": "gh pr create --fill"}, f"Creating...\n{address}\n"
    )
    world.save(world.new_path(), world.code(9))
    world.commit("Review of a human", set(), "human")
    session.branch = kept
    world.switch("main")
    world.pass_time(9000)
    world.git("merge", "--squash", "--quiet", branch)
    world.git("commit", "--quiet", "-m", f"Better {world.word()} (#{number})")
    world.truth(world.head(), {session.id}, "pull request, squashed with a human's")
    session.call(
        world.pass_time(),
        "Bash",
        {"command": "gh pr view 7; gh pr list"},
        f"https://github.com/mara/harbor/pull/{number + 1}\n",
    )
    world.save(world.new_path(), world.code(3))
    world.commit(f"Not it (#{number + 1})", set(), "pull request of a human")


DEEDS: list[Callable[[World, Session], object]] = [
    printed, printed, printed, quiet, by_script, amended, amended_by_human, rebased, squashed,
    cherry_picked, reverted, reverts, beside, same_file, by_human, mostly_session, two_at_once,
    one_commits_both, mentioned, failing_commit, colliding,
    same_words, moved, pull_request,
]  # fmt: skip


def live(root: Path, seed: int, sessions: int) -> World:
    """Return a world in which everything happened, each session doing four things; every deed
    is done once before any is repeated."""
    world = World(root, seed)
    deeds: list[Callable[[World, Session], object]] = []
    for number in range(sessions):
        session = world.new_session(signs=number % 4 == 0)
        for _ in range(4):
            if not deeds:
                deeds = world.random.sample(DEEDS, len(DEEDS))
            deeds.pop()(world, session)
            if world.random.random() < 0.3:
                session.prompt(world.pass_time(), f"Go on with the {world.word()}.")
    if seed % 2:  # what no branch holds any more is gone
        world.git("reflog", "expire", "--expire=now", "--all")
        world.git("gc", "--quiet", "--prune=now")
    return world
