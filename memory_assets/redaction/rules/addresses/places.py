"""What the places of an address are for: words in paths, names of parameters, hosts, schemes."""

from __future__ import annotations

import re

from memory_assets.word_lists import word_set, words

STEPS = words(
    "/magic /reset /verif /confirm /invit /activat /hook /webhook _hooks /receiver /input /ingest"
    " /heartbeat /eth /rpc /key /token /incoming /trigger /deploy /collect /bot /robot"
    " /private /feed /rss /ical /calendar /subscribe /notify /push /send /ping /sms /rest"
    " /passwordless /signin /sso /unlock /licensed /unsubscribe"
)
"""Beginnings of the part of a path that a secret follows."""
DRAWN_STEPS = words("/login /sign-in /auth /session /join /share /callback /access")
"""Beginnings that an id follows more often than a secret."""
PARAMETERS = words(
    "license licence hook webhook code_verifier apikeys"
    " code ticket appid app_id sig signature sign oobcode otp hmac magic invite invitation"
    " confirmation confirmation_token dkey auth login_hint_token verify verification confirm reset"
    " private tk tok tkn access mac crumb user_code q-signature x-goog-signature checksum"
)
"""Names of parameters that are no names of secrets elsewhere."""
NO_PASSWORD = word_set(": x X x-oauth-basic api_token unused _ nopass")
"""What stands in the place of a password where the user is the token."""
BOT = re.compile(r"bot\d{5,}:.")
"""A segment that is a bot's token."""
LOGIN = re.compile(
    r"(?i)(?:[\w-]{0,20}[._-])?(?:user\w{0,6}|login\w{0,5}|usr|uname|uid|email)|u|id|name|account"
)
USER = re.compile(r"(?i)u|user|username|login|email|uid")
HASHES = word_set("h hash hmac md5 checksum sign")
"""Names of parameters that hold a signature, beside one that says whose it is."""
PASSWORDS = word_set(
    "p pw pass pwd password passwd psw upw userpass userpwd passcode passphrase loginpas loginpass"
    " kennwort passwort wachtwoord senha contrasena parola haslo mdp motdepasse"
)
"""Names of parameters that hold a password, beside one that holds a login."""
KEYS = word_set("key keys k")
"""Names of secrets that are also names of other things, in addresses more often."""
SIGNATURES = re.compile(r"(?i)(?:[\w-]{0,30}[-_])?(?:sig|signature|hmac)")
"""Names of signatures, which also are short."""
PASSWORD_END = re.compile(
    r"(?i)(?:(?<![^\W_])pw|pass|pwd|passwd|password|passphrase|passcode|psw|kennwort|passwort|wachtwoord|senha"
    r"|contrasena|parola|haslo|motdepasse)$"
)
ASKING = re.compile(
    r"(?i)(?:reset|forgot|lost|change|show|hide|no|has|set|with|need|update)[\w-]{0,3}pass"
)
"""Names of parameters that ask for something to be done with a password."""
SECRET_END = re.compile(
    r"(?i)(?:key|token|secret|sig|signature|hmac|auth|ticket|pass|tok|(?:access|auth|invite|pass)[_-]?code)$"
)
"""Ends of names of what gives access."""
STREAMS = word_set("rtmp rtmps srt webcal")
"""Schemes in whose addresses the last part of the path is a key."""
SESSIONS = words("st k t s c oh hm link session session_id sessionid sid phpsessid jsessionid")
"""Names of parameters whose values may be harmless ids if they are UUIDs."""
FOR_ONE_PERSON = words("hash h c e code id x v p d data u uid user")
"""Names of parameters that give access where the path is for one person's account."""
ORDINARY = re.compile(
    r"(?i)(?:^|[\w.-]*(?:[-_.]|(?<=[a-z])(?=[A-Z])))(?:id|ids|cursor|state|nonce|hash|sha\d*|integrity"
    r"|rev|ref|version|v|q|query|cb|etag|clid|challenge|credential|content|data|text|body|url|uri|src"
    r"|redirect\w*|image|font|family|next|after|before|path|file|filename|name|email|title|date|time"
    r"|samlrequest|samlresponse|relaystate|si|igsh\w*|list|index|resid|cid|lang|label|message"
    r"|subject|uuid|guid|pbk|spm|from|to|ved|ei|utm_\w+|x-amz-credential|policy|upload_id"
    r"|key-pair-id|awsaccesskeyid|session_state)$"
)
"""Names of parameters whose values are drawn and no secrets."""
ACCOUNT = re.compile(
    r"(?i)verif|confirm|reset|activ|subscrib|invit|log-?in|sign-?in|auth|opt-?out|magic|forgot"
)
"""Words of paths to what one person may do."""
STRONG_WORD = re.compile(
    r"(?i)(?:private[-_]?|web)?hooks?|inputs?|incoming|ingest|receivers?|heartbeats?|rpc|keys?"
    r"|tokens?|secrets?|magic\w*|activat\w*|confirm\w*|verif\w*|reset\w*|recover\w*|unsubscribe|feeds?"
    r"|rss|ical|ics|private|triggers?|collect|bot|robot|deploy\w*|notify|unlock|licensed|sso|signin"
    r"|passwordless|subscribe|calendars?|subscriptions?|alerts?|integrations?|check[_-]?ins?|bulk"
    r"|snapshots?|joinchat|shared_invite|webhookb2|[\w-]{0,30}hooks?|apikey|api[-_]key"
)
"""Segments that a secret follows."""
WEAK_WORD = re.compile(
    r"(?i)(?:push|send|ping|sms|rest|eth|join|download|announce|opt-?in|inbound|receiv\w*|signed|mcp|sse|gateway|tunnel"
    r"|links?|import|export|cancellations?|live|rtmp|forecast|upload|bots?|robots?|logs?|stream"
    r"|invit\w*|wpush|register|enroll|connect|open|secure|accept|approve|generic|alert)"
    r"[\w-]{0,12}|[stupximackdw]|v\d{1,2}|in|dl|ws|wh|api|shared|published|noformat|pub|get|tk|e|r"
)
"""Segments that a secret follows rather often."""
AUTH = re.compile(r"(?i)log-?in|sign-?in|auth\w{0,12}|access")
ACTION = re.compile(r"(?i)(?:login|sign-in|auth|session|share|callback|access)[\w-]{0,12}")
"""Segments that an id follows more often than a secret."""
PLURAL = re.compile(r"(?i)[\w.-]{0,60}(?:[a-z]{2}s|[-_]list|data|media)")
SINGULAR = word_set(
    "account album app application archive arn article artifact asset attachment author"
    " avatar blob board book branch browser build by-fingerprint by-id cache card category"
    " channel chapter chat check chunk chunks class client cluster code collection comment"
    " commit compare component container content conversation course customer dashboard data"
    " deployment detail device diff digest discussion dist doc docker document domain draft"
    " drive endpoint entity entry environment episode event experiment explore feature field"
    " file flow folder form function gallery game gist grade graph group guide help home host"
    " html icon id image img incident info instance integrity invoice issue item job label"
    " layer lesson library list listing location log mail manifest media member merge message"
    " milestone model module msg nft node note notebook object offer order org organization"
    " package page paper parent patch path payment pen people photo pipeline play player"
    " playlist plugin png post prefix preview problem product profile program project public"
    " publication pull question queue r raw record ref release report repo repository request"
    " resolve resource result review revision room rule run sandbox scene schema section"
    " segment sequence server series service set sha sha1 sha256 site snippet song space spec"
    " src stack stage state static statuses step store story style subject svg tag tags task"
    " team template test thread thumb ticket topic trace track transaction tree trees tx txn"
    " type upload user users uuid version video view vm volume watch widget wiki workflow"
    " workspace zone address + -"
)
"""Names of things that have ids."""
KEYED_HOST = re.compile(
    r"(?:^|\.)(?:infura\.io|alchemy(?:api)?\.(?:io|com)|quiknode\.pro|blastapi\.io|getblock\.io"
    r"|nownodes\.io|ankr\.com|fury\.io|cloudsmith\.io|packagecloud\.io|cronitor\.link|logtail\.com"
    r"|exchangerate-api\.com|(?:darksky|pirateweather)\.net|ntfy\.sh|logentries\.com|hc-ping\.com"
    r"|script\.google\.com|nosnch\.in|webhook\.site)(?::|$)"
)
"""Hosts whose paths hold a key."""
RECEIVING_HOST = re.compile(
    r"(?:(?:^|[.-])(?:webhooks?|hooks?|requestbin)|rpc|main-?net|test-?net|collector|intake|listener"
    r"|inputs?|ingest|receiver|heartbeat)\d{0,4}[.-]"
)
"""Hosts that do little but take what programs send, whoever has the address."""
SPEAKING_HOST = re.compile(
    r"(?:^|[.-])(?:api|mcp|wss?|push|wh|in|logs?|collect|notify|ping|feeds?|gateway|relay|alert|uptime)\d*[.-]"
)
"""Other hosts that programs send to."""
PUBLIC_HOST = re.compile(
    r"(?:^|\.)(?:(?:youtube\.com|youtu\.be|youtube-nocookie\.com|discord\.gg|slack\.com|forms\.gle"
    r"|wikipedia\.org|wikimedia\.org|docs\.google\.com|drive\.google\.com|colab\.research\.google\.com"
    r"|goo\.gl|bit\.ly|t\.co|asciinema\.org|appveyor\.com|microsoft\.com|msdn\.com|figma\.com"
    r"|miro\.com|github\.com|github\.io|githubusercontent\.com|gitlab\.com|bitbucket\.org"
    r"|codeberg\.org|sr\.ht|googlesource\.com|huggingface\.co|hf\.co|pythonhosted\.org|npmjs\.org"
    r"|npmjs\.com|pypi\.org|crates\.io|ghcr\.io|docker\.io|quay\.io|gcr\.io|pkg\.dev|unpkg\.com"
    r"|jsdelivr\.net|gravatar\.com|unsplash\.com|medium\.com|doi\.org|claude\.ai|chatgpt\.com"
    r"|openai\.com|apache\.org|postgresql\.org|codesandbox\.io|stackblitz\.com|codepen\.io"
    r"|jsfiddle\.net|notion\.so|notion\.site|loom\.com|vimeo\.com|spotify\.com|reddit\.com|redd\.it"
    r"|twitter\.com|x\.com|linkedin\.com|facebook\.com|instagram\.com|tiktok\.com|arxiv\.org"
    r"|stackoverflow\.com|plantuml\.com|kroki\.io|archive\.org|blogger\.com|flickr\.com|cloudfront\.net|localhost"
    r"|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]|host\.docker\.internal)(?::|$)"
    r"|(?:git|gitlab|gitea|amazon|groups\.google|mail-archives?)\.)"
    r"|(?:^|[.-])(?:cdn|static|assets?|images?|img|media|uploads?|files?|avatars?)\d{0,4}[.-]"
)
"""Hosts whose paths have public ids, hashes of commits and contents, or that are this machine."""
NAMING_HOST = re.compile(
    r"(?:^|\.)(?:vault\.(?:azure|usgovcloudapi)\.(?:net|cn)|secretmanager\.googleapis\.com)(?::|$)"
)
"""Hosts whose paths name secrets and their versions, and hold none."""
GIVING_HOST = re.compile(
    r"^[a-z0-9]{12,40}\.(?:m\.pipedream\.net|x\.(?:pipedream|requestbin)\.\w{2,4}"
    r"|oast\.\w{2,6}|ngrok(?:-free)?\.(?:app|dev|io))(?::|$)"
)
"""Hosts of which the first label is drawn, and is all that keeps others out."""
PASSWORD_SCHEMES = word_set("trojan hysteria hysteria2 hy2 anytls vless tuic nats")
"""Schemes in whose addresses a password, or an id that serves as one, stands in a user's place."""
NOTIFYING = word_set(
    "africas apprise apprises bark blink bluesky boxcar bulksms burstsms chanify chime"
    " clickatell clicksend d7sms dapnet dingtalk discord evolution faast fcm feishu flock"
    " fluxer fortysixelks gchat googlechat gotify gotifys guilded hassio hassios httpsms ifttt"
    " join kavenegar kumulos lametric lark lunasea lunaseas mailgun mastodon mastodons matrix"
    " matrixs mattermost messagebird misskey misskeys mmost mmosts msg91 msteams nctalk nctalks"
    " nexmo notica notifiarr notifico ntfy ntfys o365 office365 onesignal opsgenie pagerduty"
    " pagertree parsep parseps plivo popcorn pover prowl psafer psafers pbul pushbullet"
    " pushdeer pushdeers pushed pushjet pushjets pushkey pushme pushover pushplus pushsafer"
    " pushy pushys revolt rocket rockets ryver schan sendgrid sendpulse serverchan ses sfr"
    " simplepush sinch slack smseagle smseagles smsmanager smtp2go sns sparkpost splunk"
    " spugpush spush strmlabs synology synologys telegram tgram threema toot toots twilio twist"
    " twitter victorops voipms vonage wecombot webex whatsapp workflows wxpusher wxteams zapier"
    " zulip"
)
"""Schemes of services that notify, as command lines and settings of such programs address them."""
OWN = word_set(
    "file git ssh s3 gs az op data docker oci ipfs ipns image extension vscode asset content blob"
    " session memory resource chrome jar pkg node webpack cache trace maven ni app app-server about"
    " ldap ldaps vscode-resource vscode-webview chrome-extension moz-extension svn npm hg info"
)
"""Schemes of hashes and names of objects."""
WEB = word_set("http https ws wss webcal ftp feed")
REGISTRY = word_set(
    "npm pypi simple maven maven2 debian ubuntu apt deb rpm yum nuget gem gems conda helm charts"
    " composer cargo docker terraform announce basic.ics feed.xml calendar.ics"
)
"""What follows a token in addresses of package registries, trackers and calendars."""
