"""Commands that exist to print secrets, and the options of their programs, as data.

One command a line, first the program. Of the words after it:

- `get|show` is one of these subcommands or arguments, `*` and `?` match as in a shell;
- `!ls|list` is any argument but these;
- `**` is any number of arguments;
- `-d|--decrypt` is an option that has to be given, anywhere;
- `~-o|--output` is an option that must not be given.

Options may stand between all of them. Names of commands and options are from the
programs' own documentation.
"""

from __future__ import annotations

from memory_assets.word_lists import word_set, words

_KUBERNETES = """
kubectl get secret|secrets
kubectl get ** secret/*|secrets/*|*/secrets*
kubectl config view --raw
kubectl create token
kubectl create secret -o|--output
kubectl view-secret|view-serviceaccount-kubeconfig
kubectl oidc-login get-token
oc whoami -t|--show-token
oc extract secret|secret/*|secrets/*
oc serviceaccounts|serviceaccount|sa get-token|create-kubeconfig|new-token
helm get values|all|manifest
helm secrets decrypt|dec|view
kubeadm token create|list|generate
kubeadm init
microk8s|k3s config|token
kind get kubeconfig
k3d kubeconfig get|print
argocd account generate-token
argocd admin initial-password
kubeseal --recovery-unseal
"""

_AMAZON = """
aws secretsmanager get-secret-value|batch-get-secret-value|get-random-password
aws ssm get-parameter|get-parameters|get-parameters-by-path|get-parameter-history
aws sts get-session-token|assume-role|assume-role-with-saml|assume-role-with-web-identity
aws sts get-federation-token|assume-root
aws ecr get-login-password|get-authorization-token|get-login
aws ecr-public get-login-password|get-authorization-token
aws eks get-token
aws kms decrypt|generate-data-key|generate-data-key-pair|generate-random
aws iam create-access-key|create-service-specific-credential|reset-service-specific-credential
aws configure export-credentials
aws configure get *secret*|*token*
aws codeartifact get-authorization-token
aws rds generate-db-auth-token
aws redshift|redshift-serverless get-cluster-credentials*|get-credentials
aws ec2 get-password-data|create-key-pair
aws lightsail create-key-pair|download-default-key-pair|get-instance-access-details
aws sso get-role-credentials
aws cognito-identity get-credentials-for-identity
aws cognito-idp initiate-auth|admin-initiate-auth|describe-user-pool-client
aws apigateway get-api-key|get-api-keys --include-value|--include-values
aws appsync list-api-keys|create-api-key
eb printenv
chamber read|export|env
chamber list -e|--expand
chamber exec ** env|printenv
aws-vault export
aws-vault exec ** env|printenv
credstash get|getall
"""

_GOOGLE_AND_AZURE = """
gcloud secrets versions access
gcloud auth print-access-token|print-identity-token|print-refresh-token
gcloud auth application-default print-access-token|print-identity-token
gcloud config config-helper
gcloud kms decrypt|asymmetric-decrypt
gcloud iam service-accounts keys create */dev/stdout|-
gcloud services api-keys get-key-string|create
gcloud compute reset-windows-password
gcloud redis instances get-auth-string
gcloud storage hmac create
gsutil hmac create
berglas access
az account get-access-token
az keyvault secret show|download
az keyvault key decrypt
az ** keys list|renew|regenerate
az ** key regenerate|renew
az signalr|webpubsub|maps|search key list
az ** list-keys|regenerate-keys|show-connection-string|generate-sas
az ** connection-string show|list
az ** credential show|reset|renew
az appconfig|batch credential list
az ** admin-key|query-key show|list
az ** appsettings list
az ** list-publishing-credentials|list-publishing-profiles
az acr login --expose-token
az ad sp create-for-rbac
az aks get-credentials -f|--file
ibmcloud iam oauth-tokens
ibmcloud secrets-manager secret
oci secrets secret-bundle get
oci iam auth-token create
scw secret version access
scw iam api-key create
doctl kubernetes cluster kubeconfig show
"""

_PASS = "|".join(
    words(
        "ls list find search show otp generate grep insert add edit rm remove delete mv rename cp"
        " copy git init help version import update audit tomb open close"
    )
)
_GOPASS = "|".join(
    words(
        "alias audit cat clone completion config convert copy cp create new delete remove rm edit"
        " set env find search fsck fscopy fsmove generate git grep help history hist init insert"
        " link ln symlink list ls merge mounts move mv otp totp process pwgen rcs recipients reorg"
        " setup show sum sha sha256 sync templates unclip update version"
    )
)
_PASSWORD_MANAGERS = f"""
vault kv get
vault read|unwrap|login
vault token create|lookup
vault print token
vault operator init|generate-root|rekey
vault write */login*|*/creds/*|*secret-id*|*/decrypt/*|*/issue/*|*/sign/*|*/token*
op read|inject
op item get|create|edit
op get item|document
op document get
op signin --raw
op run --no-masking
op service-account create
op connect token create
bw get|unlock|login|generate
bw list item|items
bw export --raw
bws secret get|list
rbw get|code
lpass show|export
dcli password|p|read|note
keepassxc-cli show|export
pass show|otp|generate|grep ~-c|--clip
pass show --clip=*
pass !{_PASS} ~-c|--clip
gopass show|cat|otp|totp|generate|pwgen|grep ~-c|--clip
gopass env ** env|printenv
gopass !{_GOPASS} ~-c|--clip
doppler secrets ~--only-names
doppler configs tokens create
doppler configure get token
doppler run ** env|printenv
infisical secrets|export
infisical login --plain
infisical user get token
infisical run ** env|printenv
conjur variable get
akeyless get-secret-value
teller env|export|show|sh|yaml|json
dotenvx|dotenv get|list|decrypt
security find-generic-password|find-internet-password|dump-keychain
secret-tool lookup|search
keyring get
kwallet-query -r|--read-password
get-secret|get-azkeyvaultsecret -asplaintext
get-azaccesstoken
convertfrom-securestring -asplaintext
nmcli ** show-password
nmcli -s|--show-secrets
netsh wlan show ** key=clear
"""

_ENCRYPTED_FILES = """
sops -d|--decrypt
sops decrypt
sops exec-env ** env|printenv
age|rage -d|--decrypt
age-keygen ~-o|--output|-y
gpg -d|--decrypt
gpg --export-secret-keys|--export-secret-subkeys|--export-secret-key
ansible-vault view|decrypt
rails credentials:show|encrypted:show|secret
console secrets:reveal
console secrets:list --reveal
wg genkey|genpsk|showconf
wg show ** private-key|preshared-keys|dump
"""

_DEVELOPERS = """
gh auth token
gh auth status -t|--show-token
gh auth git-credential get
glab auth token
glab auth status -t|--show-token
glab variable get|list|export
glab token create|rotate
glab config get token
npm|pnpm|yarn|bun token
npm|pnpm|yarn config get *token*|*auth*|*password*
git credential fill
git credential-* get
git config ** *token|*passw*|*secret|*extraheader*
git-credential get
docker config inspect
docker swarm join-token|unlock-key|init
docker secret inspect --showsecret
docker-credential get|list
terraform output
terraform run-all|run output
terraform state pull
terraform show -json|--json
pulumi config get
pulumi config|stack|preview|up --show-secrets
pulumi stack output|export --show-secrets
pulumi env open|get|run
consul acl token create|read|list|clone
consul acl bootstrap
consul keygen
consul keyring -list|--list
consul kv get|export *secret*|*passw*|*token*|*credential*|*key*
consul kv get|export -recurse|--recurse
nomad acl token|bootstrap
nomad var get
etcdctl get *secret*|*passw*|*token*|*credential*|*key*
redis-cli config get *pass*|masterauth|[*]
redis-cli acl list|getuser|genpass
heroku config|config:get|auth:token|pg:credentials:url|redis:credentials
heroku authorizations:create|authorizations:info|authorizations:rotate
fly tokens create|attenuate
fly auth token
vercel env pull */dev/stdout|-
vercel tokens create|add
netlify env:get|env:list
railway variables|variable|vars
railway run ** env|printenv
firebase login:ci|functions:config:get|functions:secrets:access
wrangler auth token
supabase status
supabase projects api-keys
stripe config -l|--list
twilio api:*keys:create|api:*tokens:create
snyk config get
sst secret list|load
convex env get|list
eas env:get|env:list
shopify app env show
pscale password|service-token create
turso auth token
turso db tokens create
neonctl connection-string|cs
cf env|oauth-token|service-key
cloudflared access token
cloudflared tunnel token
databricks auth token
databricks tokens create
databricks secrets get-secret
step ca token
tailscale|tctl|tsh tokens|token add|create
"""

VAULT_COMMANDS = tuple(
    tuple(line.split())
    for line in (
        _KUBERNETES
        + _AMAZON
        + _GOOGLE_AND_AZURE
        + _PASSWORD_MANAGERS
        + _ENCRYPTED_FILES
        + _DEVELOPERS
    ).splitlines()
    if line
)
"""Commands that exist to print secrets."""

VALUE_OPTIONS = {
    program: word_set(options)
    for program, options in (
        ("kubectl",
         "-n --namespace --context --cluster --user --kubeconfig -s --server --token"
         " --as --as-group --as-uid --cache-dir --request-timeout --tls-server-name"
         " --password --username --certificate-authority --client-certificate"
         " --client-key -l --selector -f --filename -o --output --field-selector"
         " --sort-by --template -c --container -L --label-columns -v --config"),
        ("helm",
         "-n --namespace --kube-context --kubeconfig --kube-apiserver --kube-token -o"
         " --output --revision --template"),
        ("aws",
         "--profile --region --output --query --endpoint-url --ca-bundle"
         " --cli-read-timeout --cli-connect-timeout --color --cli-binary-format"),
        ("gcloud",
         "--project --account --configuration --format --filter --verbosity"
         " --billing-project --impersonate-service-account --flags-file"
         " --access-token-file --region --zone"),
        ("az", "--subscription -o --output --query -g --resource-group -n --name"),
        ("docker",
         "-c --context -H --host --config -l --log-level -f --file -p --project-name"
         " --profile --env-file --project-directory --tlscacert --tlscert --tlskey"),
        ("heroku", "-a --app -r --remote"),
        ("gh", "-R --repo -h --hostname"),
        ("op", "--account --vault --session --format --config --encoding --cache"),
        ("doppler", "-t --token -p --project -c --config --scope --configuration"),
        ("git", "-C -c --git-dir --work-tree --namespace --exec-path"),
    )
}  # fmt: skip
"""Options whose next word is their value, by program; others are read both ways."""

PROGRAM_NAMES = {
    "k": "kubectl", "kubecolor": "kubectl", "kubectl.docker": "kubectl",
    "awslocal": "aws", "aws-cli": "aws", "awscli": "aws", "bao": "vault", "openbao": "vault",
    "flyctl": "fly", "tofu": "terraform", "opentofu": "terraform", "terragrunt": "terraform",
    "podman": "docker", "nerdctl": "docker", "docker-compose": "docker", "vc": "vercel",
    "netlify-cli": "netlify", "ntl": "netlify", "firebase-tools": "firebase", "gpg2": "gpg",
    "helm3": "helm",
    "valkey-cli": "redis-cli", "@railway/cli": "railway", "@bitwarden/cli": "bw",
    "@infisical/cli": "infisical", "@dotenvx/dotenvx": "dotenvx",
    "neon": "neonctl", "eas-cli": "eas",
}  # fmt: skip
"""Other names of programs, and of packages and images that hold them."""

EXTENDS = {"oc": "kubectl"}
"""Programs that have all commands of another, too."""

RELEASE_TRACKS = {"gcloud": word_set("alpha beta preview")}
"""Words that may stand before a program's subcommands and change nothing."""

SWALLOWS = word_set(
    "docker podman nerdctl helm kubectl oc kubeseal crane skopeo buildah oras gh glab git"
    " wrangler vercel fly flyctl netlify railway heroku pbcopy xclip xsel wl-copy clip"
    " set-clipboard psql mysql mongosh redis-cli sqlite3 wc md5sum shasum sha1sum"
    " sha256sum sha512sum cksum test true op vault aws gcloud az curl wget"
)
"""Programs that take a secret on standard input and do not print it."""
