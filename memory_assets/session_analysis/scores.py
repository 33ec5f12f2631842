"""Score sentences: those that state a cause, a reason or a finding, and those that report
finished work."""

from __future__ import annotations

import re

from memory_assets.session_analysis.phrases import Phrase
from memory_assets.session_analysis.statements import AgentSentence, is_readable

OTHER_CAUSES = (
    r"原因(?:是|在于|有|了|：|:|は|です|でした)|根因|导致|是因为|问题(?:是|在于|出在)|引起的|問題(?:は|です)|"
    r"のが(?:原因|問題)|\b(?:ursache|grund (?:ist|war|dafür)|(?:lag|liegt) (?:daran|an)|"
    r"das problem (?:ist|war)|la (?:causa|cause)|el problema (?:es|era)|"
    r"le problème (?:est|était|vient))\b"
)
OTHER_REASONS = (
    r"因为|由于|(?:说明|表明)(?=[^。，、]{4})|所以|因此|必须|不支持|无法|不能|只(?:有|能|在)|要求|而不是|而是|不需要|不用|"
    r"ため(?!に)|ので|から[、。]|により|つまり|できない|できません|ません|必要|のみ|だけ|ではなく|"
    r"\b(?:weil|deshalb|dadurch|nur wenn|porque|debido a|parce que)\b"
)
OTHER_GUESSES = (
    r"可能|也许|大概|かもしれ|おそらく|見込み|と思われ|おすすめ|安心です|"
    r"\b(?:vielleicht|vermutlich|wahrscheinlich)\b"
)
OTHER_PLANS = (
    r"^\W*(?:让我|我来|我会|我将|接下来|下一步|先(?!前)|需要(?:我|现在)|要不要|好的|如果|まず|次に|もし|"
    r"ich werde|lass mich|wenn du|falls)|"
    r"(?:吗|呢|吧|しましょう|ましょうか|ますか|ください|(?:確認|対応|修正|追加|変更|削除|実行|作成)します|"
    r"進めます|行います|見ます)\W*$"
)
OTHER_NEXT = (
    r"次の(?:一手|ステップ|アクション|作業)|今後|残(?:り|タスク)|下一步|接下来|待办|后续|"
    r"nächste schritte|prochaines étapes|próximos pasos|다음 단계"
)
"""Headings of next steps."""
_MADE = (
    r"(?:创建|新建|添加|新增|加入|修复|修正|更新|删除|清除|移除|替换|安装|配置|实现|改成|改为|改用|移到|提交|推送|写入|"
    r"保存|生成|重构|优化|合并|重命名|调整|统一|补充|下载|搭建|填充|启动|写)"
)
OTHER_DEEDS = Phrase(
    rf"(?:已|已经|全部|成功){_MADE}|{_MADE}(?:了|好|完|成功|到|至|为)|完成(?!度|标准|的|后|之)|跑通|搞定|修了|"
    r"(?:しました|済み|完了(?:です|した)?)(?:\W|$)|(?:削除|追加|更新|変更|修正|統一|移行|置換|実装|作成|導入|"
    r"解消|統合|移動|抽出|固定|簡素化|置き換え)(?=\W*$)|(?:했습니다|됐습니다|되었습니다|완료)|"
    r"\b(?:hinzugefügt|entfernt|erstellt|behoben|angepasst|aktualisiert|ersetzt|umbenannt|"
    r"implementiert|korrigiert|gelöscht|geändert|verschoben|ergänzt|eingebaut|umgestellt|"
    r"(?:añadid|agregad|corregid|eliminad|cread|actualizad|reemplazad)[oa]s?|"
    r"(?:ajouté|corrigé|supprimé|créé|remplacé|mis à jour)e?s?)\b"
)
OTHER_OPEN = Phrase(
    r"[吗？?]|(?:需要|可以|要不要|如果|建议|下一步|接下来|还没|尚未|未能|因为|说明|思い|考え|判断|確認|分か|整理|ますか|ください|必要|次に|まず|"
    r"します|する予定|したい|しましょう|できます|可能)|\b(?:möchte\w*|soll\w*|wenn|falls|kann|können|muss|"
    r"müssen|nicht)\b|"
    r"^(?=.{0,14}$)[^a-z]*$"
)
"""Sentences on work that is not done yet, or too short to say what was done."""

CAUSE = Phrase(
    rf"{OTHER_CAUSES}|"
    r"\b(?:root cause|(?:the|your|our|my) "
    r"(?:(?:real|actual|main|core|underlying|only|exact|other) )?"
    r"(?:problem|issue|bug|cause|culprit|reason|difference|catch|blocker|breakage)\b.{0,40}?"
    r"\b(?:is|was|lies|seems|comes|came)\b|blocker was\b|turn(?:s|ed) out\b|caused by\b|"
    r"(?:this|that|which) (?:is|was) why\b|that's why\b|this explains\b|"
    r"the (?:fix|solution|trick) (?:is|was)\b|the key (?:is|was) (?:that|to)\b|culprit\b)|"
    r"^\W*(?:the )?(?:actual |real |main )?(?:problem|issue|bug|cause|reason)"
    r"(?:\W*: (?!https?:)(?=\w)|"
    r" \d+\b[^:]{0,40}: (?=(?:the|an?|it|every|each|no)\b|\w+ (?:is|was)\b))"
)
CAUSE_HEADING = Phrase(
    r"^\W*(?:the )?(?:root |actual |real )?(?:causes?|problem|issue|bug|reason)\W*$|原因|ursache|"
    r"(?:^| — )(?:root )?(?:cause|reason)s?(?: — |$)|"
    r"\b(?:what (?:was|went|is) wrong|root cause|causes?\b.*:$|why (?:it|this|that) \w+)|"
    r"^\W*(?:conclusion|bottom line|verdict|结论)"
)
_OTHERS_HEADING = Phrase(
    r"\b(?:well|good|strengths?|positives?|praise|solid|what works|recent\w*|previous\w*|earlier|"
    r"history|progress)\b"
)
"""Headings of work of others, or of an earlier session."""
REASON = Phrase(
    rf"{OTHER_REASONS}|, so \w+(?:s|ing)\b|"
    r"\b(?:because|due to|since (?:the|it|this|we|there)|so (?:that|the|it|every|each|no)|"
    r"(?:means|shows|proves|confirms) (?:that|the|it|we)|only (?:when|if)|happens when|"
    r"instead of|rather than|does(?:n't| not)|isn't|never|actually|whereas|"
    r"(?:this|that|which) explains|explains (?:it|why|the)|therefore|by default)\b"
)
PLANNING = Phrase(
    r"^\W*(?:(?:now|next|first|then|ok(?:ay)?|so|great|good|perfect)[,.!]* )*"
    r"(?:using|once you|after you|"
    r"let me|let's|I'll|I will|I'm (?:now |also )?\w+ing\b|I am \w+ing\b|I need to|I "
    r"want to|"
    r"I should|we should|we need to|going to|should I|shall I|would you|do you|if|you can|"
    r"you could|you may|sorry|you're (?:absolutely )?right|only \w+ \w+ \w+ if|"
    r"my (?:lean|preference|recommendation|suggestion|take)\b)|"
    rf"^\W*(?:do not|don't|avoid)\b|{OTHER_PLANS}"
)
_VERDICT = Phrase(
    r"\bthe (?:fix|solution) (?:is|was) (?:(?:entirely )?in|correct|complete|good|clean|ready|"
    r"deployed|live|working|active)\b|"
    r"\b(?:issue|problem|bug) (?:is|was) (?:now )?(?:fixed|resolved|gone)\b"
)
DOUBTFUL = Phrase(
    r"\b(?:might|maybe|perhaps|possibly|could (?:\w+ )?be|may (?:\w+ )?be|seems? (?:like|to)|"
    r"I think|I suspect|wonder|would|will)\b|\?$"
)
GUESSED = Phrase(
    rf"{OTHER_GUESSES}|\b(?:likely|probably|almost certainly|theoretically|suggesting|unsure|"
    r"uncertain|unclear|(?:not|n't) (?:\w+ )?(?:sure|certain|clear|convinced)|"
    r"(?:I|we) (?:do not|don't|cannot|can't) (?:\w+ )?(?:know|tell|say)|no (?:evidence|proof|sign)|"
    r"I (?:doubt|guess|wonder|believe|assume))\b|^\W*whether\b"
)
ABOUT_WORK = Phrase(
    r": [A-Z][a-z]+ed\b|^\W*(?:(?:I|we)(?:'ve| have)? (?:also |now "
    r")?(?:\w+ed|wrote|made|ran|did)\b|could|can|would|needs?|I'd|I would|next|[a-z]{3,}ed|"
    r"requires?|does(?:n't| not)|not)\b"
)
CHANGES = Phrase(
    r"^\W*(?:[^—–.?!:]{3,60}(?: [—–-]+|:) )?(?:\w+ly )?(?!caused|turned|need|failed|related|indeed)"
    r"(?:(?:auto|force|re)-)?(?:[a-z]{3,}ed|used|built|kept)\b|"
    r"^\W*(?:remove|add|use|update|fix|change|move|replace|create|rename|delete|keep|switch|ensure|"
    r"you want|you'll want)\b"
)
"""Beginnings of sentences that report a change, or ask for one."""
_CODE_LIKE = re.compile(r"\w+[._/]\w+|\w+\(\)|[a-z][A-Z]|\b\d+\b|--\w")


_NO_FINDING = Phrase(
    r"^\W*(?:fix(?:es)?\b|the fix (?:is|was) (?:working|correct|complete|good|sound)\b|"
    r"(?:worse|also|however|instead|additionally|plus|then|what I)\b)|"
    r"^\W*(?:now )?I (?:can )?(?:now )?(?:see|understand)\b|"
    r"^\W*(?:I(?:'ve)? )?found the (?:root )?(?:cause|issue|problem|bug)\b(?: and \w+ it)?\W*$|"
    r"\b(?:issue|problem|bug) (?:description|report|statement|number)\b|\bI was\b|\bthe user\b"
    r"|\bissue is (?:really )?(?:after|about|asking|tracking)\b"
    r"|\bthe (?:fix|solution) (?:is|was) (?:already|now|just|not|to|simpl\w+|straightforward)\b"
    r"|\bthat's why (?:we|I)\b|^\W*(?:note|so|but|and)\b.{0,20}$"
    r"|\b(?:root cause|culprit|fix)(?: is| was)?(?: now)? "
    r"(?:real|clear|confirmed|in place|found|here|exact)\b(?!: \S)"
)
_TRANSIENT = Phrase(
    r"\b(?:(?:biome|eslint|pylint|mypy)\b|unknown\[\]|inferred (?:from|as)\b|"
    r"possibly (?:undefined|null)\b|(?:they|he|she) wants?\b|"
    r"(?:does not|doesn't|no) need to (?:change|be)\b|"
    r"I (?:\w+ly )?(?:assumed|failed|defaulted|misread|misunderstood)\b|"
    r"(?:the|my|this|our) (?:\w+ ){0,2}(?:tests?(?:'s)?|specs?|mocks?|assertions?|scripts?)\b|"
    r"(?:read|edit|write|grep|bash) tool\b|lint\w*\b|unused\b|typos?\b|PID \d|sandbox\w*\b|"
    r"background (?:task|process)\b|work(?:ing)?.?trees?\b|this session\b|"
    r"my (?:environment|execution|change|edit|regex|command|previous|earlier|own)\b|"
    r"I (?:forgot|used|missed|accidentally|added|wrote|made)\b|"
    r"(?:we|I)(?:'re| are|'m| am) (?:creating|trying|running|using)\b)|_test\b|\.(?:spec|test)\."
)
"""Subjects that matter only during the work: the agent's own tests, edits and environment."""


def states_nothing(text: str) -> bool:
    """Return True if a sentence only announces a finding, or matters only during the work."""
    return (_NO_FINDING.search(text) or _TRANSIENT.search(text)) is not None


def cause_score(sentence: AgentSentence) -> float:
    """Return a score: 1.2 and more for a sentence that gives a reason or a finding."""
    text = sentence.plain
    if not is_readable(text):
        return 0.0
    score = 3.0 if CAUSE.search(text) else 0.0
    score += min(2, REASON.count(text)) * 0.7
    if score == 0 or text[0] in '"“' or _OTHERS_HEADING.search(sentence.parsed.heading):
        return 0.0
    if PLANNING.search(text) or _VERDICT.search(text) or states_nothing(text):
        return 0.0
    listed = sentence.parsed.item and sentence.changed and score < 1.5
    if listed and SUMMARY_HEADING.search(f"{sentence.parsed.heading} {sentence.parsed.lead}"):
        return 0.0  # of a list of changes
    score += 0.5 if _CODE_LIKE.search(text) else 0.0
    sure = sentence.closing or sentence.recap
    score += 0.5 if sure else -0.8
    score -= 3.0 if GUESSED.search(text) else 0.0
    score -= (1.2 if sure else 2.0) if DOUBTFUL.search(text) else 0.0
    score -= 0.6 if len(text) > 220 else 0.0
    score -= 1.0 if DID.search(text) or (score < 2 and NOW.search(text)) else 0.0
    return score


_PAST = (
    r"(?:added|fixed|updated|created|implemented|removed|committed|pushed|refactored|renamed|replaced|"
    r"wrote|merged|moved|changed|extracted|simplified|converted|deleted|rebased|resolved|installed|"
    r"configured|introduced|switched|documented|tightened|extended|rewrote|reverted|verified|opened|"
    r"built|written|published|deployed|released|migrated|integrated|enabled|disabled|cleaned|corrected|addressed|"
    r"copied|rebuilt|synced|pinned|regenerated|seeded|tuned|adopted|adjusted|archived|bundled|imported|"
    r"injected|ported|promoted|pruned|redirected|redesigned|reordered|reorganized|repaired|rewired|"
    r"scaffolded|split|squashed|styled|toggled|uninstalled|vendored|hooked|guarded|gated|"
    r"completed|finished|ran|made|bumped|dropped|wired|registered|improved|patched|"
    r"filled|restored|aligned|applied|expanded|standardized|upgraded|hardened|consolidated|trimmed|"
    r"shortened|tested|normalized|flattened|inlined|reduced|reworked|restructured|stripped|swapped|"
    r"unified|wrapped|scoped|staged|stopped|started|cleared|granted|uploaded|downloaded|saved|discarded|"
    r"modified|rewritten|generated|captured|shipped|landed|sanitized|restricted|reused|"
    r"enhanced|tweaked|amended|restarted|filed|executed)"
)
_MENDED = r"(?:(?<=fixed)|(?<=resolved)|(?<=corrected)|(?<=repaired)|(?<=patched))"
_DEED = rf"{_PAST}\b(?!\s*[-–—:]\s)(?:{_MENDED}|(?! that\b))"
"""A finished action: not "wrote that ...", which reports a statement, but "fixed that ..."."""
DID = Phrase(
    r"^\W*(?:\S*\w[./]\w\S*(?: \([^)]*\))? *[-–—:]+ "
    r"|[^—–.?!:]{3,60}(?: [—–-]+|:) (?=\w+ [^\s(—–-]))?"
    rf"(?:done[.!:,]? |all (?:done|set)[.!:,]? |fixed[.!:,]+ )?"
    rf"(?:(?:and|also|then|successfully) )*"
    rf"(?:(?:I|we)(?:'ve| have)?(?: (?:also|now|just|then|successfully))* )?"
    rf"{_DEED}|"
    rf"(?<!did )\b(?:I(?:'ve| have)?|we(?:'ve| have))(?: (?:also|now|just))* "
    rf"{_DEED}|"
    rf"\b(?:has|have) been (?:\w+ly )?\w+ed\b|"
    r"^\W*the (?:fix|change|solution) (?:is|was) an? (?:\S+ ){0,3}"
    r"(?:change|removal|addition|edit|fix|tweak|swap|line)\b"
)
WAS_DONE = Phrase(
    rf"^\W*\S+(?: \S+)? (?:was|were) {_PAST}\b|"
    rf"^\W*(?!all\b|everything\b)(?:(?!(?:is|are|be|been|if|when|not|that|which|already)\b)"
    rf"[\w./'@#-]+ ){{1,4}}{_PAST}(?: (?:with|in|to|at|and|from|on|for|as|across)\b|:|,|$|[.!]$)"
)
_CLAUSE_END = re.compile(rf" [–—-] |; |{_MENDED} that ", re.IGNORECASE)
GOES_BACK = Phrase(
    r"\W*(?:here(?:'s| is| are)\b|(?:this|that|which|it) (?:means|ensures|makes)\b|but\b)"
)
DOES = (
    r"(?:[\w-]+s|work|pass|use|have|support|return|go|set|start|end|install|accept|show|wait|run|include|"
    r"fall|read|write|take|get|share|handle|render|keep|point|match|require|log|store|send)"
)
"""Verbs for what something does now."""
DEEDS = (DID, OTHER_DEEDS)
"""Finished actions in all languages."""
NOW = Phrase(
    r"(?:\b(?:is|are)|'re|'s) (?:now|all (?:done|set|fixed|"
    r"complete|merged|green)|complete|done|fixed|in place|merged|pushed)\b|"
    rf"(?<=\S )now (?:\w+ly )?{DOES}\b|"
    rf"^\W*now,? (?!.*\b(?:you|I)\b)(?:the|both|each|every|all|when(?:ever)?|\w+[_.(]\S*) "
    rf"(?:\S+ ){{0,6}}?{DOES}\b|"
    r"\b(?:is|are) \w+ now\b|"
    r"\b(?:tests?|build|checks?|suite|lint|it|everything|all|both) (?:\w+ "
    r")?(?:pass(?:es|ed)?|succeed(?:s|ed))\b"
)
NOT_DONE = Phrase(
    r"^(?:no|nothing|if|depending|then|still|use|never|always)\b|"
    r"\b(?:will|would|should|could|might|going to|need(?:s)? to|todo|want me|let me|I'll|let's|"
    r"if you|you can|you could|unless|before (?:you|we)|not yet|haven'?t|hasn'?t|didn'?t|"
    r"no changes|couldn'?t|cannot|can'?t|can(?! now)|"
    r"fail(?:s|ed|ing)?|next step)\b|\?[\"')\]]*$"
)
_UNDER_WAY = Phrase(r"\brunning (?:now|in)\b|\bin (?:flight|progress)\b")
_QUOTES = re.compile(r'(?:^|[\s(])"[^"]*$')
"""A quotation that is not closed."""
SUMMARY_HEADING = Phrase(
    r"summary|change|done|complete|implement|fix|what "
    r"(?:I|was|changed)|result|deliver|shipped|ship"
)
NEXT_HEADING = Phrase(
    r"^\W*next\W*$|\bnext (?:steps?|up|actions?)\b|what'?s next|remaining|to-?do\b|follow-?up|"
    r"still (?:to|open)|open (?:item|question|issue)|not (?:yet )?(?:done|covered)|outstanding|"
    rf"what'?s left|recommend(?!ed\W*$)|future work|{OTHER_NEXT}"
)


def _deed_of(text: str) -> str:
    """Return the first clause of a sentence that begins with a finished action, else all of it:
    later clauses may be about its effects."""
    return _CLAUSE_END.split(text, maxsplit=1)[0] if DID.match(text) else text


def done_score(sentence: AgentSentence) -> float:
    """Return a score: 1.5 and more for a sentence that tells of work done."""
    text = sentence.plain
    if (
        not (sentence.closing or sentence.recap)
        or not is_readable(text)
        or NOT_DONE.search(_deed_of(text))
    ):
        return 0.0
    if NEXT_HEADING.search(sentence.parsed.heading) or NEXT_HEADING.search(sentence.parsed.lead):
        return 0.0
    if _OTHERS_HEADING.search(sentence.parsed.heading) and not sentence.changed:
        return 0.0
    deed = DID.search(text)
    if (deed and _QUOTES.search(text[: deed.start()])) or (not deed and _UNDER_WAY.search(text)):
        return 0.0
    if not deed and OTHER_DEEDS.search(text):
        is_likely = sentence.changed or sentence.recap or sentence.sentences_before == 0
        if not is_likely or OTHER_OPEN.search(text) or CAUSE_HEADING.search(sentence.parsed.lead):
            return 0.0
        return 2.4 if sentence.changed else 2.0
    # "completed runs ..." in lower case may be an adjective, other than the verb after a path:
    # "src/gate.py - Added ...".
    score = 0.0
    if deed:
        verb = text[deed.end() - len(deed[0].split()[-1]) :]
        score = 2.0 if deed.start() or text[0].isupper() or verb[0].isupper() else 0.5
    if score or sentence.changed or sentence.last:  # else it may describe an unchanged state
        score += 1.0 if NOW.search(text) or (not deed and WAS_DONE.search(text)) else 0.0
    if score == 0:
        return 0.0
    if SUMMARY_HEADING.search(sentence.parsed.heading) or SUMMARY_HEADING.search(
        sentence.parsed.lead
    ):
        score += 0.7
    score += 1.0 if sentence.last else 0.0
    score += 0.4 if sentence.changed else 0.0
    score += 0.6 if sentence.recap else 0.0
    score += 0.3 if not sentence.parsed.item else 0.0
    score -= 0.5 if len(text) > 200 else 0.0
    return score
