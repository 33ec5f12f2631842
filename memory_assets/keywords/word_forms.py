"""English words that say little in a question, and irregular forms a stemmer cannot undo."""

from __future__ import annotations

_WEAK = """
a about above after again all also am an and any are as at be because been before being
below between both but by can could did do does doing done down during each few for from
further get got had has have having he her here hers him his how i if in into is it its
just let like me more most my no nor not of off on once only or other our out over own
same she should so some such than that the their them then there these they this those
through to too under until up us very was we were what when where which while who whom
whose why will with would you your yours s t d ll re ve m don doesn didn isn wasn aren
couldn shouldn wouldn won hasn haven ain
"""

WEAK_WORDS = frozenset(_WEAK.split())

_IRREGULAR = """
am is are was were been being:be|has had having:have|does did done doing:do|goes went gone:go
got gotten:get|made:make|took taken:take|came:come|seen saw:see|knew known:know|thought:think
gave given:give|found:find|told:tell|became:become|left:leave|felt:feel|brought:bring
began begun:begin|kept:keep|held:hold|wrote written:write|stood:stand|heard:hear|meant:mean
met:meet|ran:run|paid:pay|sat:sit|spoke spoken:speak|lain:lie|led:lead|grew grown:grow
lost:lose|fell fallen:fall|sent:send|built:build|understood:understand|drew drawn:draw
broke broken:break|spent:spend|rose risen:rise|drove driven:drive|bought:buy|wore worn:wear
chose chosen:choose|ate eaten:eat|slept:sleep|flew flown:fly|sang sung:sing|swam swum:swim
taught:teach|caught:catch|sold:sell|fought:fight|threw thrown:throw|forgot forgotten:forget
hid hidden:hide|shook shaken:shake|woke woken:wake|rode ridden:ride|hung:hang
stole stolen:steal|drank drunk:drink|blew blown:blow|tore torn:tear|bit bitten:bite
shot:shoot|stuck:stick|struck:strike|swung:swing|dug:dig|dealt:deal|sought:seek|bent:bend
lent:lend|lit:light|fed:feed|bled:bleed|bred:breed|fitted:fit|froze frozen:freeze
forgave forgiven:forgive|knelt:kneel|leapt:leap|learnt:learn|shrank shrunk:shrink
sank sunk:sink|slid:slide|spun:spin|sprang sprung:spring|swore sworn:swear|swept:sweep
undid undone:undo|overwrote overwritten:overwrite|rewrote rewritten:rewrite|rebuilt:rebuild
withdrew withdrawn:withdraw|men:man|women:woman|children:child|people:person|feet:foot
teeth:tooth|mice:mouse|geese:goose|lives:life|wives:wife|knives:knife|leaves:leaf
halves:half|shelves:shelf|selves:self|indices indexes:index|vertices:vertex|matrices:matrix
criteria:criterion
"""

BASE_FORMS = {
    form: base
    for forms, base in (
        entry.split(":") for line in _IRREGULAR.split("\n") if line for entry in line.split("|")
    )
    for form in forms.split()
}
"""The base form of each irregular form."""
