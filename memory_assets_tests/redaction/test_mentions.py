"""Secrets that no rule names: a keyword, then a value; addresses, headers, tables, arguments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from memory_assets.redaction import Redactor
from memory_assets_tests.redaction.goes import goes
from memory_assets_tests.sweep import sweep

Fake = Callable[..., str]

PASSWORDS = (
    "pw: {s}",
    "PW = {s}",
    "the pw is {s}",
    "root pw {s}",
    "pwd {s}",
    "my pasword is {s}",
    "passwrd: {s}",
    "passowrd: {s}",
    "password {s}",
    "Password -> {s}",
    "password := {s}",
    "password was changed to {s}",
    "Use the admin password for testing:  {s}",
    "here is the password:\n{s}\n",
    "Here's the password you asked for:\n\n    {s}\n",
    "login admin / {s}",
    "login: admin / {s}",
    "log in as admin / {s}",
    "logins: admin:{s}",
    "credentials are admin / {s}",
    "(user: admin, pass: {s})",
    "user admin password {s}",
    "passcode {s}",
    "passphrase is {s}",
    "Das Passwort lautet {s}",
    "Passwort: {s}",
    "Kennwort ist {s}",
    "Zugangsdaten: admin / {s}",
    "le mot de passe est {s}",
    "mdp : {s}",
    "la contraseña es {s}",
    "la clave es {s}",
    "a senha é {s}",
    "la parola d'ordine: {s}",
    "wachtwoord is {s}",
    "hasło to {s}",
    "heslo: {s}",
    "пароль `{s}`",
    "密码是{s}",
    "密码：{s}",
    "密码为{s}",
    "パスワードは{s}です",
    "パスワード：{s}",
    "비밀번호는 {s} 입니다",
    "비밀번호: {s}",
    "mkpasswd -p {s}",
    "imap://host -u kurt:{s} --ssl",
)


@sweep("text", PASSWORDS)
@sweep("value", ["Tr0ub4dor5", "hunter2x29", "xK9vQ2mLpw"])
def test_a_password_goes_that_is_only_mentioned(text: str, value: str, redactor: Redactor) -> None:
    """What follows a word for passwords goes, if it looks like one; the sentence stays."""
    kept = redactor.redact(text.replace("{s}", value)).text
    assert value not in kept
    before, after = text.split("{s}")
    assert kept.startswith(before)
    assert kept.endswith(after)


@sweep("text", ["password: {s}", "the password is {s}", 'PASSWORD="{s}"', "DB_PASSWORD={s}\nX=1"])
@sweep("value", ["Tr0ub4dor!", "Tr0ub4dor#", "Tr0ub4dor?", "Tr0ub4dor$!", "Tr0ub4dor=="])
def test_nothing_of_a_password_stays_beside_its_tag(
    text: str, value: str, redactor: Redactor
) -> None:
    """Signs at the end of a value are a part of it."""
    kept = redactor.redact(text.replace("{s}", value)).text
    before, after = text.split("{s}")
    assert kept.removeprefix(before).startswith("<redacted:")
    assert kept.endswith(">" + after)


@sweep(
    "text, template",
    [
        ("acme token {s}", "{a:24}"),
        ("acme token - '{s}'", "{uuid}"),
        ("acme token - '{s}'", "{a:8}]{a:5}:{a:4};{a:9}~{a:6}>{a:12}"),
        ("acme '{s}'", "{a:30}"),
        ("acme `{s}`", "{a:30}"),
        ('    acmecloud: "{s}"', "{l:25}-{l:10}"),
        ('acmeMetrics := "{s}"', "{a:32}"),
        ('ACME_KEY: "{s}"', "{a:20}_{a:11}"),
        ("acmeio key = '{s}'", "{a:20}"),
        ("Here is my API key:\n{s}\n", "{a:32}"),
        ("Here is my API key:\n{s}\n", "{h:32}"),
        ("the token is\n\n```\n{s}\n```", "{a:40}"),
        ("Key={s}", "{u:8}-{u:8}-{u:9}-{u:8}"),
        ("asana Key=7/{s}", "{d:16}/{d:16}:{h:32}"),
        ('token = "{s}"', "{a:11}"),
        ('acme_writekey = "{s}"', "{a:32}"),
        ('AWS_ACCESS_KEY_ID = "{s}"', "A3T{u:17}"),
        ("2FA seed: {s}", "JBSW Y3DP EHPK 3PXP"),
        ("authenticator setup key: {s}", "jbsw y3dp ehpk 3pxp mfrg gzdf"),
        ("PIN: {s}", "4711"),
        ("The PIN is {s}.", "90210"),
        ('{"value": "{s}", "name": "ACME_PASSWORD"}', "{a:40}"),
    ],
)
def test_a_token_goes_that_is_only_mentioned(
    text: str, template: str, redactor: Redactor, fake: Fake
) -> None:
    """A generated value goes behind a word for secrets, and in quotes behind most words."""
    value = fake(template)
    kept = redactor.redact(text.replace("{s}", value)).text
    before, after = text.split("{s}")
    assert value not in kept
    assert kept.startswith(before.removesuffix("7/"))
    assert kept.endswith(">" + after)


@sweep(
    "text, template",
    [
        ("https://app.corp.io/callback?code={s}&state=x", "{a:40}"),
        ("https://app.corp.io/magic/{s}", "{a:32}"),
        ("https://app.corp.io/login/magic-link?t={s}", "{a:32}"),
        ("https://app.corp.io/reset-password/{s}", "{a:32}"),
        ("https://app.corp.io/verify?ticket={s}", "{h:32}"),
        ("https://app.corp.io/invite/{s}?x=1", "{a:22}"),
        ("https://chat.corp.io/hooks/{s}", "{l:26}"),
        ("https://ci.corp.io/webhooks/deploy/{s}", "{a:24}"),
        ("https://api.corp.io/build_hooks/{s}", "{h:24}"),
        ("https://log.corp.io/receiver/v1/http/{s}", "{a:86}=="),
        ("https://log.corp.io/inputs/{s}/tag/x", "{uuid}"),
        ("https://rpc.corp.io/eth/{s}", "{h:64}"),
        ("https://maps.corp.io/tiles?tokenkey={s}", "{l:50}"),
        ("https://api.corp.io/data?appid={s}&q=x", "{h:32}"),
        ("https://blob.corp.io/a/b?se=2026&sig={s}", "{a:43}%3D"),
        ("https://s3.corp.io/b/k?X-Amz-Expires=60&X-Amz-Signature={s}", "{h:64}"),
        ("https://api.corp.io/robot/send?access_token={s}", "{h:64}"),
        ("https://qy.corp.io/cgi-bin/webhook/send?key={s}", "{uuid}"),
        ("https://{s}@git.corp.io/app.git", "{h:40}"),
        ("https://:{s}@git.corp.io/app.git", "{a:20}"),
        ("slack://{s}/#general", "T{u:8}/B{u:8}/{a:24}"),
        ("https://rss.corp.io/feed.xml?feed_token={s}", "{a:20}"),
        ("https://app.corp.io/x?next=1&sessionid={s}", "{l:32}"),
        ("https://app.corp.io/;jsessionid={s}", "{h:32}"),
        ("https://app.corp.io/cb?code={s}", "{uuid}"),
        ("https://app.corp.io/v1?appkey={s}", "{h:32}"),
        ("https://s3.corp.io/o?X-Goog-Signature={s}", "{h:64}"),
        ("https://{s}@app.corp.io/1", "{l:20}"),
        ("https://{s}:x@app.corp.io/1", "{a:24}"),
        ("chat://{s}@channel", "{a:14}"),
        ("https://bsc.nownodes.io/{s}", "{h:32}"),
        ("https://rpc.corp.io/v3/{s}", "{h:32}"),
        ("https://x-mainnet.corp.io/{s}", "{uuid}"),
        ("ldap://corp.io/dc=x????bindname=cn=a,X-BINDPW={s}", "{a:24}"),
    ],
)
def test_the_secret_of_an_address_goes(
    text: str, template: str, redactor: Redactor, fake: Fake
) -> None:
    """Callbacks, magic links, hooks, signed addresses: whoever has the address may do it."""
    value = fake(template)
    kept = redactor.redact(text.replace("{s}", value)).text
    assert all(part not in kept for part in value.split("/"))
    assert kept.startswith(text.split("{s}")[0])


test_the_password_of_an_address_goes = goes(
    "Whatever signs are in it or beside it.",
    *product(
        [
            "postgres://app:{s}@/db?host=/tmp",
            "mongodb+srv://a*b:%24{s}@db.corp.io/x",
            "amqp://app:{s};x@mq:5672/%2f",
            "mssql+pyodbc://sa:{s}^HHH@sql:1433/x",
            "ftp://app:{s}@@ftp.corp.io/x",
            "curl -x http://proxy:{s}@proxy:3128 https://x",
            "redis://:{s}@cache:6379/0",
            "url = 'https://app:{s}@' + host",
            "amqp://app:{s}@<host>/x",
        ],
        ["Tr0ub4dor5", "hunter2x29", "whalehello"],
    ),
)


@sweep(
    "text, template",
    [
        ("> X-Acme-Key: {s}\n> Accept: */*", "{a:32}"),
        ("> X-Acme-Key: {s}\r\n", "{h:32}"),
        ("curl -H 'X-Acme-Key: {s}' https://x", "{a:24}"),
        ("< X-Subject-Token: {s}\n", "gAAAAA{w:80}"),
        ("Authorization: AcmeScheme {s}", "{a:32}"),
        ("Authorization: {s}", "{a:32}"),
        ("authorization: Basic {s}", "YWRtaW46aHVudGVyMng5"),
        ('h != "Basic {s}" {', "bWU6bXlwYXNzd29yZA=="),
        ('Authorization: Digest username="a", realm="r", uri="/", response="{s}"', "{h:32}"),
        ("Ocp-Apim-Subscription-Key: {s}", "{h:32}"),
        ("X-Auth-User: a\nX-Auth-Key: {s}", "{h:37}"),
        ("x-vault-token: {s}", "s.{a:24}"),
        ("Cookie: acme_session={s}; theme=dark", "{a:40}"),
    ],
)
def test_the_secret_of_a_header_goes(
    text: str, template: str, redactor: Redactor, fake: Fake
) -> None:
    """Custom headers, schemes that nobody listed, Basic outside a header, Digest."""
    value = fake(template)
    kept = redactor.redact(text.replace("{s}", value)).text
    assert value not in kept
    assert kept.startswith(text.split("{s}")[0])


COMMANDS = (
    "acmectl login \\\n  --password \\\n  {s} \\\n  --host x",
    "acmectl deploy --token \\\n    {s}",
    "curl -u \\\n admin:{s} https://x",
    "acmectl -k {s} status",
    "acme --api_key={s} run",
    "acme --auth {s} run",
    "wget --http-password={s} https://x",
    "wget --http-password {s} https://x",
    "wget --user a --password {s} ftp://x",
    "heroku config:set ACME={s}",
    "heroku config:set A=1 ACME_TOKEN={s} -a app",
    "dokku config:set app KEY={s}",
    "aws ssm put-parameter --name /app/x --type SecureString --value {s}",
    "aws ssm put-parameter --name x --value '{s}' --overwrite",
    "aws secretsmanager create-secret --name x --secret-string {s}",
    "aws configure set aws_secret_access_key {s}",
    "vault kv put secret/app value={s}",
    "vault login {s}",
    "gcloud auth login --password={s}",
    "az login -u app -p {s}",
    "docker login -u app -p {s} r.corp.io",
    "helm upgrade app --set db.password={s}",
    "vercel env add X <<< {s}",
    "psql 'host=db user=app password={s}'",
    "cmdkey /add:srv /user:app /pass:{s}",
    "net use Z: \\\\srv\\share /user:app {s}",
    "net user app {s} /add",
    "wpa_passphrase HomeNet {s}",
    "nmcli dev wifi connect HomeNet password {s}",
    "kubectl create secret generic x --from-literal=y={s}",
    "kubectl create secret docker-registry r --docker-username=a --docker-password={s}",
    "npm config set _password {s}",
    "pip config set global.password {s}",
    "composer config http-basic.repo.corp.io user {s}",
    "poetry config http-basic.corp user {s}",
    "rclone config create x webdav user a pass {s}",
    "ansible-playbook -e ansible_password={s} x.yml",
    "svn co --username a --password {s} http://x",
    "mount -t cifs //s/x /m -o username=a,password={s}",
    "rabbitmqctl add_user app {s}",
    "htpasswd -nb app {s}",
    "ssh-keygen -t ed25519 -N '{s}' -f k",
    "pg_dump 'postgresql://app:{s}@db/x'",
    "PGPASSWORD={s} psql -h db",
    "terraform apply -var 'db_password={s}'",
    "curl -d 'user=a&password={s}' https://x",
    "curl -F token={s}9zQ2 https://x",
    "sudo cryptsetup luksOpen /dev/x y <<< '{s}'",
)


test_the_secret_argument_of_a_command_goes = goes(
    "Options, positions, and values on the next line after a backslash.",
    *product(COMMANDS, ["Tr0ub4dor5kQ7", "xK9vQ2mLpwZ4"]),
)


STRUCTURED = (
    " user  |  password  \n-------+------------\n app   | {s}\n(1 row)",
    " id | login | secret \n----+-------+--------\n  1 | bob   | {s}\n  2 | eve   | {s}q\n",
    "+----+------------+\n| id | api_token  |\n+----+------------+\n|  1 | {s} |\n+----+-----+",
    "| User | Passwort |\n|:--|:--|\n| app | {s} |",
    "| name | pw |\n|---|---|\n| `app` | `{s}` |",
    "INSERT INTO users (name, password) VALUES ('app', '{s}');",
    "INSERT INTO users (id, name, api_token, at) VALUES (1, 'app', '{s}', now());",
    "insert into users(login,pwd) values('a, b','{s}')",
    "INSERT INTO credentials VALUES (1, 'app', '{s}');",
    "UPDATE users SET password = '{s}' WHERE id = 1",
    "    DefaultPassword    REG_SZ    {s}\n",
    "reg add HKLM\\x /v DefaultPassword /t REG_SZ /d {s} /f",
    'network={\n ssid="x"\n #psk="{s}"\n}',
    "[wifi-security]\nkey-mgmt=wpa-psk\npsk={s}\n",
    '      ~ password = "old" -> "{s}"\n',
    '      ~ password             = "{s}" -> (known after apply)\n',
    '      + master_password      = "{s}"\n',
    "password = <<EOF\n{s}\nEOF\n",
    "  token = <<-EOT\n    {s}\n  EOT\n",
    'password = """\n{s}\n"""\n',
    "password = '''{s}'''\n",
    "[db]\npassword   =   {s}\n",
    "- name: DB_PASSWORD\n  value: {s}\n",
    '- name: "DB_PASSWORD"\n  value: "{s}"\n',
    "- key: API_TOKEN\n  value: {s}\n",
    '{"Name": "DB_PASSWORD", "Value": "{s}"}',
    '{"ParameterKey": "DbPassword", "ParameterValue": "{s}"}',
    "password: |\n  {s}\n",
    "password: >-\n  {s}\n",
    "<password>\n  {s}\n</password>",
    "<entry key='password'>{s}</entry>",
    '<property name="password" value="{s}"/>',
    "Password\n{s}\n",
    "Username: app\nPassword:\n  {s}\n",
    "User name      app\nPassword       {s}\n",
    "Key      Value\n---      -----\ntoken    {s}!9zQ2xK\n",
    '{"secrets":[{"name":"db","value":"{s}"}]}',
    '"credentials": [\n {"id": 1, "value": "x"},\n {"id": 2, "value": "{s}"}\n]',
    '<secret name="db">\n  <value>{s}</value>\n</secret>',
    "WARN invalid credentials for bob/{s}",
    "ftp -n h <<E\nuser bob {s}\nE",
)


test_the_secret_of_a_table_or_block_goes = goes(
    "Columns, SQL, registries, plans, here-documents, lists of names and values.",
    *product(STRUCTURED, ["Tr0ub4dor5kQ7", "xK9vQ2mLpwZ4"]),
)


CHOSEN = (
    "use this key: {s}",
    'client = Client(api_key="{s}")',
    "os.environ['SERVICE_TOKEN'] = '{s}'",
    "%env API_SECRET={s}",
    "https://app.corp.io/reset?token={s}",
    "new secret = {s}",
    "Created user deploy with password {s} (change it at first login)",
    "-requirepass {s}",
    "My GitLab PAT ({s}) expired",
    "Invalid API key provided: {s}.",
    "screenshot of the vault, api key {s}",
)


test_a_password_that_a_person_chose_goes = goes(
    "Behind names for keys and tokens, too, if it has the form that rules ask for.",
    *product(CHOSEN, ["Harbor4711!", "Lantern99#", "xK9vQ2mLpw$T4uR8eW1"]),
)


BY_CLASS = (
    "-[ RECORD 1 ]--+------\nid             | 7\nclient_secret  | {s}\n",
    "| host | login | pass |\n|---|---|---|\n| db1 | root | {s} |",
    "| Service | Password |\n|---|---|\n| grafana | {s} |",
    "INSERT INTO secrets VALUES ('db', '{s}');",
    "webhook_secret = <<-EOT\n    {s}\n  EOT\n",
    "signing_key = '''\n{s}\n'''\n",
    'variable "api_key" {\n  type = string\n  default = <<-EOF\n    {s}\n  EOF\n}',
    "The access token for CI:\n\n    {s}\n",
    "here is the wifi password of the office\n{s}\n",
    "- Key: SLACK_PAT\n  Value: '{s}'\n",
    '{"Name": "SIGNING_KEY", "Value": "{s}"}',
    "    AppPassword    REG_SZ    {s}\n",
    "    Key Content            : {s}\n",
    "schtasks /create /tn x /ru bob /rp {s} /sc daily",
    "aws ssm put-parameter --type SecureString --name x --value {s}",
    "heroku config:set SENDGRID={s} -a app",
    "linear token {s} expired",
    "ops:{s} are the credentials for grafana",
    "{s} is the new db password",
    "the prod password is still {s}, sorry",
    "geheimer Schlüssel: {s}",
    "clé secrète : {s}",
    "clave_secreta = '{s}'",
    "api_secert = {s}",
)


@sweep("text", BY_CLASS)
@sweep("value", ["Harbor4711!", "Lantern9917*", "kQ7x!9vR2mLpw*T4"])
def test_a_password_with_a_sign_goes_from_everywhere(
    text: str, value: str, redactor: Redactor
) -> None:
    """Signs end no value, and a password that a person chose is one in tables and blocks, too."""
    kept = redactor.redact(text.replace("{s}", value)).text
    before, after = text.split("{s}")
    assert kept.startswith(before)
    assert kept.endswith(">" + after)


@sweep("name", ["password: ", "DB_PASS=", "--passphrase ", '"passwd": '])
@sweep("value", ["Maple7677 ab1cd 148", "Falcon4004 5c5gz", "blue Harbor4711! door"])
def test_a_quoted_password_of_several_words_goes_whole(
    name: str, value: str, redactor: Redactor
) -> None:
    """Words, one of them with a number, are a passphrase and no message."""
    kept = redactor.redact(f'{name}"{value}"').text
    assert kept.startswith(name + '"<redacted:')
    assert kept.endswith('>"')


@sweep(
    "text, template",
    [
        ("http://127.0.0.1:8080/#ticket={s}&x=1", "{a:32}"),
        ("myapp://done#code={s}", "{h:32}"),
        ("join://{s}", "{uuid}"),
        ("ntfy://{s}@ntfy.corp.io/topic", "{a:12}"),
        ("pover://user@{s}/device", "{a:30}"),
        ("nexmo://ABCDEF12:{s}@+15551234567", "{a:16}"),
        ("https://app.corp.io/u/{s}/feed.xml", "{h:32}"),
        ("https://app.corp.io/ical/private-{s}/basic.ics", "{uuid}"),
        ("your setup key\n\n  {s}\n", "JBSW Y3DP EHPK 3PXP"),
        ("Enter this secret in the app:\n{s}\n", "JBSW-Y3DP-EHPK-3PXP"),
    ],
)
def test_the_secret_of_a_fragment_a_notifier_or_a_feed_goes(
    text: str, template: str, redactor: Redactor, fake: Fake
) -> None:
    """Addresses that programs for notifications are configured with, private feeds, and seeds."""
    value = fake(template)
    assert value not in redactor.redact(text.replace("{s}", value)).text


def test_a_value_that_code_joins_goes_whole(redactor: Redactor, fake: Fake) -> None:
    """Literals that a plus sign joins are one value."""
    first, second = fake("{h:16}"), fake("{h:18}", 1)
    kept = redactor.redact(f'api_key = "{first}" + "{second}"\nx = "a" + "b"').text
    assert first not in kept
    assert second not in kept
    assert kept.endswith('"\nx = "a" + "b"')


@sweep(
    "text, template",
    [
        ("The deploy key:\n{s}", "{h:40}"),
        ("Here is the signing key:\n{s}", "{h:64}"),
        ("The token for the build:\n{s}", "{h:64}"),
        ("apikey:\n{s}", "{a:24}"),
        ("myApiKey:\n{s}", "{a:24}"),
    ],
)
def test_a_value_goes_that_the_line_above_announces(
    text: str, template: str, redactor: Redactor, fake: Fake
) -> None:
    """Of hashes those that are called a token, or a key for something that is kept secret."""
    value = fake(template)
    assert value not in redactor.redact(text.replace("{s}", value)).text


@sweep("end", ["\n", "  \n", "\r\n"])
def test_a_last_column_of_passwords_goes(end: str, redactor: Redactor) -> None:
    """As psql prints it: no bar is behind the name."""
    table = f" user | pass{end}------+-----------{end} app  | Tr0ub4dor5{end}(1 row){end}"
    kept = redactor.redact(table).text
    assert "Tr0ub4dor5" not in kept
    assert kept.endswith(f">{end}(1 row){end}")


@sweep("value", ["hunter2!Xy", "Tr0ub4dor5kQ7xWm2"])
def test_only_a_hash_is_one_behind_the_name_of_a_file(value: str, redactor: Redactor) -> None:
    """Whatever else stands in `MD5 (NAME) = ...` is what the name says."""
    assert redactor.redact(f"MD5 (password) = {value}").findings[0].rule == "assigned-password"


def test_what_ends_the_text_says_nothing_of_its_beginning(redactor: Redactor, fake: Fake) -> None:
    """A value at the beginning has nothing before it."""
    value = fake("acme_key_{a:32}")
    assert value not in redactor.redact(f"{value} MD5 (x) = ").text


@sweep("name", ["DB_PASSWORD_KEY=", "password_key: ", "export PASSWD_KEY="])
@sweep("value", ["harbor-lights9", "hunter2x"])
def test_the_value_of_a_password_key_goes(name: str, value: str, redactor: Redactor) -> None:
    """A setting of this name is a password; only Helm's `passwordKey` names one."""
    assert value not in redactor.redact(name + value).text
