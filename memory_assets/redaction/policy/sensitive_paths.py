"""Which paths name files that exist to hold secrets, as data.

Names stand alone; where a bare name is too general (`config.json`, `auth.json`), the
directory that gives it its meaning stands before it. Formats of paths are from the
documentation of the programs that keep their secrets there.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

from memory_assets.word_lists import any_of, words

SENSITIVE_NAMES = words(
    # environments
    ".env .env.* .env-* .env_* *.env .envrc .flaskenv .dev.vars local.settings.json"
    # keys, certificates, key stores
    " *.pem *.key *.priv *.p8 *.p12 *.pfx *.pkcs8 *.pkcs12 *.jks *.keystore *.bks *.kdb *.kdbx"
    " *.ppk *.agekey *.ovpn wg[0-9].conf secring.* id_rsa* id_dsa* id_ecdsa* id_ed25519* id_xmss*"
    " *_rsa *_dsa *_ecdsa *_ed25519 *.keytab *.jwk"
    # logins of programs
    " .netrc _netrc .pgpass pgpass.conf .my.cnf .mylogin.cnf .htpasswd htpasswd .git-credentials"
    " .npmrc .pypirc .dockercfg .s3cfg .boto .passwd-s3fs rclone.conf .vault-token .vault_pass*"
    " vault_pass* .vault-password* kubeconfig kubeconfig.* *.kubeconfig wp-config.php"
    " settings-security.xml application_default_credentials.json terraform.rc .terraformrc"
    # files called after what they hold
    " credentials .credentials credentials.json credentials.y*ml credentials.toml credentials.ini"
    " credentials.xml credentials.csv credentials.db credentials.txt .credentials.json"
    " *-credentials.json *_credentials.json *_accesskeys.csv accesstokens.json access_tokens.db"
    " secrets .secrets .secret secrets.json secrets.y*ml secrets.toml secrets.ini secrets.txt"
    " secret.json secret.y*ml secret.txt *.secret.y*ml *.secrets.y*ml *-secret.y*ml *-secrets.y*ml"
    " .secrets.toml .secrets.y*ml password.txt passwords.txt passwords.csv passwd.txt token.json"
    " .token token.txt client_secret*.json"
    # accounts of clouds, state of infrastructure
    " *service-account*.json *service_account*.json *serviceaccount*.json *serviceaccountkey*.json"
    " *firebase-adminsdk*.json *.tfvars *.tfvars.json *.tfstate *.tfstate.* gshadow"
    " master.passwd"
)
"""Shell patterns of file names, lower-case."""

SENSITIVE_PLACES = words(
    ".aws/credentials .aws/sso/cache/* .aws/cli/cache/* .azure/*token*.json .azure/*cache*"
    " .config/gcloud/*.json .config/gcloud/*.db gcloud/legacy_credentials/* .oci/config"
    " .bluemix/config.json .aliyun/config.json .tccli/*.credential"
    " .ssh/* .gnupg/* .password-store/* .docker/config.json .kube/config .kube/cache/*"
    " .minikube/*.key .config/containers/auth.json containers/auth.json .config/gh/hosts.yml"
    " .config/hub .config/glab-cli/config.yml .config/doctl/config.yaml .fly/config.yml"
    " .netlify/config.json com.vercel.cli/auth.json .vercel/auth.json"
    " .config/configstore/*.json .railway/config.json"
    " .cargo/credentials .cargo/credentials.toml .gem/credentials .composer/auth.json"
    " .config/composer/auth.json .m2/settings.xml .gradle/gradle.properties .nuget/nuget.config"
    " nuget/nuget.config .config/pypoetry/auth.toml .codex/auth.json .claude/.credentials.json"
    " .gemini/oauth_creds.json .qwen/oauth_creds.json .pi/agent/auth.json opencode/auth.json"
    " .config/github-copilot/*.json .terraform.d/credentials.tfrc.json .config/sops/age/*"
    " .config/rclone/* .snowflake/connections.toml .snowsql/config .databrickscfg"
    " .kaggle/kaggle.json .cache/huggingface/token .huggingface/token .config/op/* .config/stripe/*"
    " etc/shadow etc/shadow- etc/sudoers etc/ssl/private/* etc/wireguard/* etc/openvpn/*"
    " etc/kubernetes/*.conf run/secrets/* serviceaccount/token proc/*/environ"
)
"""Ends of paths, lower-case; `*` crosses directories."""

HARMLESS_NAMES = words(
    "*.example *.example.* *.sample *.sample.* *.template *.template.* *.tmpl *.tpl *.dist"
    " *.defaults *-example *-example.* *_example.* example.env sample.env template.env *.pub *.md"
    " *.mdx *.rst *.d.ts *.schema.json *.pub.pem *public*.pem cacert.pem ca-certificates.*"
    " process.env *.meta.env known_hosts* authorized_keys* allowed_signers *.asc"
    " trustdb.gpg .secrets.baseline"
)
_HARMLESS_PLACES = words(".ssh/config .ssh/config.d/* .ssh/rc .ssh/environment.d")
_GLOB = re.compile(r"[*?\[\]]")
_COMMAND_WORD = re.compile(r"[^\s\"'`;|&<>()=:{},]{3,300}")
_BRACES = re.compile(r"[{},]")
_LONGEST = 4_096
_TAIL = 512


def _any_of(patterns: tuple[str, ...], before: str = "") -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{before}{translate(pattern)})" for pattern in patterns))


_NAMES = _any_of(SENSITIVE_NAMES)
_PLACES = _any_of(SENSITIVE_PLACES, before="(?:.*/)?")
_HARMLESS = _any_of(HARMLESS_NAMES)
_HARMLESS_PLACE = _any_of(_HARMLESS_PLACES, before="(?:.*/)?")
HINTS = words(
    ".env .flask .dev.vars local.settings .pem .key .priv .p8 .p12 .pfx .pkcs .jks keystore .bks"
    " .kdb .ppk .agekey .ovpn wg secring id_ _rsa _dsa _ec _ed2 .keytab .jwk netrc pgpass .cnf"
    " htpass .npmrc .pypirc docker .s3cfg .boto s3fs rclone vault kubeconfig wp-config settings"
    " credential terraform accesskeys token secret passw service firebase .tfvars .tfstate shadow"
    " .aws .azure gcloud .oci .bluemix .aliyun .tccli .ssh .gnupg .kube .minikube containers"
    " .config auth .fly .netlify .railway .gradle nuget oauth_creds .snow .databricks .kaggle"
    " huggingface sudoers ssl/ wireguard openvpn kubernetes environ"
)
"""Every sensitive path contains one of these, in lower case."""
_HINT = re.compile(any_of(HINTS))


def hints(text: str) -> bool:
    """Return False, quickly, if `text` cannot name a sensitive path."""
    return _HINT.search(text.lower()) is not None


@lru_cache(maxsize=256)
def names_secrets(command: str) -> bool:
    """Return True if a word of a command names a file of secrets."""
    return hints(command) and any(map(is_sensitive, _COMMAND_WORD.findall(command)))


def is_sensitive(path: str) -> bool:
    """Return True if `path` names a file that exists to hold secrets, in any case of letters.

    Shell patterns count for what they may match: `.env*` and `{a,.env}` are sensitive.
    """
    return _is_sensitive(path) if len(path) <= _LONGEST else _is_sensitive(path[-_TAIL:])


@lru_cache(maxsize=8_192)
def _is_sensitive(path: str) -> bool:
    plain = normal(path)
    if not hints(plain):
        return False
    parts = [plain]
    if "{" in plain:
        parts += _BRACES.split(plain)
    if _GLOB.search(plain):
        parts += [_GLOB.sub("", part) for part in parts]
    return any(_matches(part) for part in parts if part)


def _matches(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    if _HARMLESS.match(name) or _HARMLESS_PLACE.match(path):
        return False
    return bool(_NAMES.match(name) or _PLACES.match(path))


def normal(path: str) -> str:
    """Return `path` with `/`, lower-case, without scheme, quotes and the parts that Windows
    ignores."""
    plain = path.strip().strip("'\"").replace("\\", "/").casefold()
    plain = plain.removeprefix("file://").removesuffix("::$data").rstrip("/. ")
    segments: list[str] = []
    for segment in plain.split("/"):
        if segment == ".." and segments and segments[-1] != "..":
            segments.pop()
        elif segment not in ("", "."):
            segments.append(segment)
    return "/".join(segments)
