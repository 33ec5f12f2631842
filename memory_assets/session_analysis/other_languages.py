"""Words for causes, reasons, plans and deeds in Chinese, Japanese, German, Spanish and French
(deeds in Korean, too), like the English ones of `scores.py`."""

from __future__ import annotations

from memory_assets.session_analysis.phrases import Phrase

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
