"""Project tidepool-web, three Claude Code sessions: a lock file, a CSV export, an OAuth loop."""

from __future__ import annotations

from datetime import UTC, datetime

from generator.claude import ClaudeSession
from generator.planted import secret

CWD = "/Users/jonas/work/tidepool-web"


def lock_file() -> ClaudeSession:
    """An old version (2.0): a build that fails because two lock files disagree."""
    s = ClaudeSession(
        "71b3e8c6-0f2d-4a95-8e47-d6c1905ab2f3",
        CWD,
        "2.0.64",
        "main",
        datetime(2026, 1, 8, 15, 40, 9, tzinfo=UTC),
        model="claude-sonnet-4-5",
    )
    s.prompt(
        "deploys fail since the renovate merge: npm ci exits with EUSAGE. it builds fine locally "
        "with pnpm"
    )
    s.bash(
        "npm ci",
        "npm error code EUSAGE\nnpm error `npm ci` can only install packages when your "
        "package.json "
        "and package-lock.json are in sync.\nnpm error Missing: next@16.1.1 from lock file",
        error=True,
        took=11,
    )
    s.bash(
        "git log --oneline -4 -- package-lock.json pnpm-lock.yaml && cat .npmrc",
        "a17c2fd Update next to 16.1.1\n0c44e1b Switch to pnpm\n9e8d7c6 Initial import\n"
        f"//registry.npmjs.org/:_authToken={secret('npm')}\nengine-strict=true",
    )
    s.say(
        "There are two lock files. The team moved to pnpm in 0c44e1b, but package-lock.json stayed "
        "behind and the deploy image still calls `npm ci`. Renovate updates only pnpm-lock.yaml, "
        "so "
        "the first dependency update made package-lock.json stale. It turns out that the deploy "
        "has "
        "been installing months-old versions until now."
    )
    _pnpm_everywhere(s)
    return s


def _pnpm_everywhere(s: ClaudeSession) -> None:
    """The second turn: one lock file."""
    s.prompt("wow. remove the npm one and let the deploy use pnpm", 70)
    s.bash("git rm package-lock.json", "rm 'package-lock.json'")
    s.edit(
        f"{CWD}/Dockerfile", "RUN npm ci", "RUN corepack enable && pnpm install --frozen-lockfile"
    )
    s.bash(
        "docker build -t tidepool-web .",
        'ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile" because pnpm-lock.yaml '
        "is not up to date with package.json",
        error=True,
        took=48,
    )
    s.bash(
        "pnpm install --lockfile-only",
        "Progress: resolved 1204, reused 1198, downloaded 6, added 0, done",
    )
    s.bash(
        "docker build -t tidepool-web .", "naming to docker.io/library/tidepool-web done", took=95
    )
    s.bash(
        'git commit -am "Install with pnpm everywhere"',
        "[main 5f0b9ea] Install with pnpm everywhere\n 3 files changed, 9 insertions(+), 14802 "
        "deletions(-)",
    )
    s.say(
        "Done: package-lock.json is gone, the image installs with pnpm and a frozen lock file, and "
        "the build passes. I'd rotate the registry token, because `cat .npmrc` printed it here."
    )


def _stations() -> str:
    """A file of more than 8 kB, numbered as the Read tool shows it."""
    names = (
        "Esbjerg",
        "Sylt",
        "Büsum",
        "Cuxhaven",
        "Wilhelmshaven",
        "Norderney",
        "Borkum",
        "Delfzijl",
    )
    rows = [
        f'{n:>6}→  {{"id": {4000 + n}, "name": "{names[n % 8]} {n:03d}", "lat": {53 + n / 97:.4f}, '
        f'"lon": {7 + n / 61:.4f}, "datum": "NHN", "gauge": "radar"}},'
        for n in range(1, 101)
    ]
    return "\n".join(rows)


def csv_export(previous: ClaudeSession) -> ClaudeSession:
    """Its file opens with a `summary` record that describes the previous session."""
    s = ClaudeSession(
        "e94d20b7-63fa-4c1e-a8d5-17b6f3c0928e",
        CWD,
        "2.0.76",
        "feat/export",
        datetime(2026, 1, 21, 9, 12, 44, tzinfo=UTC),
        model="claude-sonnet-4-5",
    )
    s.sidecar(
        {
            "type": "summary",
            "summary": "Deploy fixed by removing the stale npm lock file",
            "leafUuid": previous.leaf,
        }
    )
    s.prompt(
        "customers in Germany say the CSV export shows BÃ¼sum instead of Büsum in Excel. "
        "LibreOffice "
        "is fine"
    )
    s.read(
        f"{CWD}/src/data/stations.json",
        _stations(),
        say="First I check that the source data is right.",
    )
    s.read(
        f"{CWD}/src/lib/export.ts",
        "     1→export function toCsv(rows: Row[]): Blob {\n     2→  const lines = rows.map((r) => "
        "r.join(','));\n     3→  return new Blob([lines.join('\\n')], { type: 'text/csv' });\n   "
        "  4→}",
    )
    s.edit(f"{CWD}/src/lib/export.ts", "[lines.join('\\n')]", "['\\uFEFF', lines.join('\\r\\n')]")
    s.bash(
        "pnpm test export",
        " ✓ src/lib/export.test.ts (6 tests) 21ms\n Test Files  1 passed (1)",
        took=11,
    )
    s.say(
        "The data is correct UTF-8; Excel just doesn't believe it. Without a byte order mark, "
        "Excel "
        "opens a CSV in the system code page, so ü becomes Ã¼. The export now starts with a BOM "
        "and "
        "ends lines with CRLF."
    )
    s.machine(
        "<command-name>/cost</command-name>\n            <command-message>cost</command-message>\n"
        "            <command-args></command-args>"
    )
    s.machine("<local-command-stdout>Total cost: $0.41</local-command-stdout>")
    s.prompt("and semicolons as separator for de-DE please. then post in #releases", 80)
    s.edit(f"{CWD}/src/lib/export.ts", "r.join(',')", "r.join(separatorFor(locale))")
    s.bash(
        f'curl -sS -X POST -d \'{{"text":"CSV export opens in Excel"}}\' {secret("slack_hook")}',
        "ok",
    )
    s.say(
        "German exports now use semicolons, other locales keep commas. The message is in #releases."
    )
    return s


def oauth_loop() -> ClaudeSession:
    """The newest version; ends in a half-written line."""
    s = ClaudeSession(
        "5c8e7a13-b94f-4d26-a071-e3f2d6890b5c",
        CWD,
        "2.1.199",
        "fix/login-loop",
        datetime(2026, 6, 23, 8, 3, 27, tzinfo=UTC),
    )
    s.sidecar({"type": "mode", "mode": "normal", "sessionId": s.session_id})
    s.sidecar(
        {
            "type": "custom-title",
            "customTitle": "oauth redirect loop safari",
            "sessionId": s.session_id,
        }
    )
    s.prompt(
        "login with google loops forever in Safari: /auth/callback -> /login -> google -> "
        "callback. "
        f"chrome is ok. this is the session cookie after the first round: {secret('jwt')}"
    )
    s.call(
        "Grep",
        {
            "pattern": "sameSite|set-cookie|cookies\\(\\)",
            "path": f"{CWD}/src/auth",
            "output_mode": "content",
        },
        "src/auth/session.ts:14:  sameSite: 'strict',\nsrc/auth/state.ts:9:  sameSite: 'strict',",
    )
    s.read(
        f"{CWD}/.env.local",
        "1\tGOOGLE_CLIENT_ID=tidepool-web.apps\n"
        f"2\tGOOGLE_CLIENT_SECRET={secret('google_oauth')}\n"
        f"3\tMAPS_KEY={secret('google_key')}",
        say="Which client does the callback use?",
    )
    s.queued_attachment("btw it started when we moved from a popup to a full redirect")
    s.bash(
        "pnpm exec playwright test login --project=webkit",
        "  1 failed\n    [webkit] › login.spec.ts:12 › signs in with Google\n    Error: too many "
        "redirects, last: /login?error=state_missing",
        error=True,
        took=33,
    )
    s.say(
        "Your hint explains it. The state cookie is `SameSite=Strict`. In a popup the callback was "
        "first-party; with a full redirect the navigation comes from accounts.google.com, so the "
        "browser withholds Strict cookies, the callback finds no state and sends the user to "
        "/login "
        "again. Chrome hides it because it still has the older Lax session cookie."
    )
    s.end_turn(70_000)
    s.record("frobnicate-status", {"frobs": 3, "note": "a record type that no reader knows yet"})
    s.unknown_records += 1
    s.prompt("so lax for both?", 40)
    s.edit(
        f"{CWD}/src/auth/state.ts",
        "sameSite: 'strict'",
        "sameSite: 'lax'",
        say="Only the state cookie has to travel; the session cookie can stay Strict.",
    )
    s.bash("pnpm exec playwright test login --project=webkit", "  1 passed (9.8s)", took=21)
    s.bash(
        "git commit -am 'Let the OAuth state cookie survive the redirect'",
        "[fix/login-loop c3a9d18] Let the OAuth state cookie survive the redirect\n 1 file "
        "changed, "
        "1 insertion(+), 1 deletion(-)",
    )
    s.say(
        "The state cookie is Lax now and the session cookie stays Strict: with Lax on both, a link "
        "from another site would carry the session. WebKit signs in; commit c3a9d18."
    )
    s.end_turn(55_000)
    s.prompt("great. also check the logout", 60)
    s.lines.append(
        '{"parentUuid":"' + s.leaf + '","isSidechain":false,"type":"assistant","message":'
        '{"role":"assistant","content":[{"type":"text","text":"Logout clears the ses'
    )
    s.half_written_lines += 1
    return s
