"""What stands behind a label that says without doubt that it is a secret goes, a word as well."""

from __future__ import annotations

from memory_assets_tests.redaction.goes import goes, stays

LABELLED = (
    ("pw {s}", "banana"),
    ("root pw >> {s} <<", "kabelsalat"),
    ("wifi key ... {s}", "ilovetoast"),
    ("Enable secret is: {s}", "cisco"),
    ("Kennwort(neu): {s}, Kennwort(alt) bitte vergessen", "Hufeisen"),
    ("passwd (the ftp one): {s}", "fish+files"),
    ("db pass → {s}", "elephpant5"),
    ("Passphrase: {s}", "seven tired ferrets juggling"),
    ("SSH passphrase ......... {s}", "raven raven crow"),
    ("pw={s} user=dj_pult", "bananarama"),
    ("PASSWORD IS: {s}", "CAPSLOCK"),
    ("IPMI: user ADMIN, password {s}, please change it", "calvin"),
    ("PSK {s} on both ends, lifetime 28800", "b7Kq-0wNe-44Rt"),
    ("client secret {s} , client id 5d0c-ui", "Vq8~hTz.3mLp_Y0aRk2Wd"),
    ("rcon.password {s}", "blockheads77"),
    ("unlock code: {s}", "#77*23"),
    ("Passcode {s}, meeting id 912 3304 118", "440817"),
    ("PUK: {s}", "48820173"),
    ("webhook token: {s}", "tok-lemur-20391-aa"),
    ("> user: scoreboard\n> pass: {s}", "goalgoalgoal"),
    ("Password for jenkins@buildpi:\n{s}\nLast login: Tue", "Kohlroulade"),
    ("> Enter passphrase for the repo:\n{s}\n> created", "wandering albatross"),
    ("Password:\n    {s}\nServer:\n    mail.example", "ilovemycat"),
    ("Ten recovery codes for the portal:\n\n~~x~~\n{s}\nq2wz 7hcl\n8ybn 4dvs", "6kfp 93mt"),
    ("PASS ....... {s}", "s3cr3tP@ss!"),
    ("pass ....... {s}", "sommer2024!"),
    ("NAME   VALUE\nuser   bob\npass   {s}", "Tr0ub4dor&3"),
    ("smtp.password = {s}\r\n", "kettle"),
    ("psk ....... {s}\r\n", "correct-horse-battery-staple"),
    ("Backup codes\r\n{s}\r\nq2wz-7hcl\r\n", "6kfp-93mt"),
)


test_the_value_of_a_label_goes = goes(
    "Words, phrases and numbers, over remarks, signs and line ends.",
    *LABELLED,
)


test_what_a_label_says_of_a_secret_stays = stays(
    "Results of tests, states, stores, people, prompts of shells, code and amounts.",
    "--- PASS: TestResolveConvertArgs (0.00s)",
    "TEST 1 PASS: Created testfile.txt",
    "parity pass: Copilot SDK",
    "Password: required",
    "password: incorrect, try again",
    "Password manager: Bitwarden",
    "password reset",
    "Password:\nPermission denied, please try again.",
    "Password:\nalice@build7:~$ ls",
    "Give it the correct password:\n\n```bash\nls\n```",
    "Type your password:\nself.shown=yes",
    "PASS ....... test_login2",
    "PASS   tests/login_2.py",
    "PASS   TestHandler42",
    "pwd: Jim Meyering",
    "String password = args[1];",
    "def password(self) -> str:",
    'key: "layout-columns",',
    "recovery codes\nare listed below\n",
    "status code: 200",
)
