"""Commands of vaults, one a line; `\\n` is written so."""

from __future__ import annotations

_PRINTS = r"""
kubectl get secret x -o yaml
kubectl -n prod get secret
kubectl -nprod get secret x -o yaml
kubectl get pod/a secret/b -o yaml
kubectl get --raw /api/v1/namespaces/web/secrets/x
k -n web get secret x -o yaml
microk8s kubectl -n web get secret x -o yaml
"kubectl" '-n' "prod" 'get' "secret" x
kubectl `\n  -n prod `\n  get secret x -o yaml
kubectl ^\n  -n prod ^\n  get secret x -o yaml
kubectl -n prod get secret x -o yaml 2>&1 | head -40
kubectl -n prod get secret x -o yaml >&2
kubectl -n prod get secret x -o yaml > /tmp/out && cat /tmp/out
watch -n 5 kubectl -n prod get secret x
watch 'kubectl -n prod get secret x -o yaml'
ssh host kubectl -n prod get secret x
ssh -i key -o StrictHostKeyChecking=no host "kubectl -n prod get secret x -o yaml"
ssh host <<'EOF'\nkubectl -n prod get secret x -o yaml\nEOF
docker compose -f a.yml -p b --env-file c run --rm -T tools sh -c 'kubectl -n prod get secret x'
S="$(kubectl -n prod get secret x -o yaml)"; echo "$S"
export S="$(kubectl -n prod get secret x -o yaml)" && printf '%s' "${S}"
S=$(kubectl -n prod get secret x -o yaml)\necho "${S:0:9}"
oc whoami -t
oc --server s sa get-token builder -n ci
kubectl --context p config view --raw -o json
kubectl create -n ci token sa
kubectl -n x create secret generic a --from-literal=b=c --dry-run=client -o yaml
aws --profile p secretsmanager get-secret-value --secret-id s
aws.cmd --profile p ssm get-parameters --names a --with-decryption
python -m awscli --profile p secretsmanager get-secret-value --secret-id s
aws --profile p ecr get-login-password
aws --region r sts get-session-token --duration-seconds 900
aws --profile p configure export-credentials --format env
aws configure --profile p get aws_secret_access_key
chamber -b ssm export web
gcloud --project p secrets versions access latest --secret s
gcloud alpha --project p secrets versions access 1 --secret s
gcloud --account a auth print-access-token
gcloud --configuration c config config-helper --format=json
az --only-show-errors account get-access-token
az --subscription s keyvault secret show --name n --vault-name v
az acr --subscription s credential show -n r
az ad sp --only-show-errors create-for-rbac
vault -address=https://v kv get secret/a
vault read -address https://v secret/a
vault -non-interactive token create -policy p
vault write -address=https://v -f auth/approle/role/r/secret-id
op --account a read op://v/i/f
op item --account a get x
bw --session X get item y
pass email/work
pass show -- email/work
PASSWORD_STORE_DIR=/x pass show email/work
gopass --yes show a/b
doppler -t T secrets
doppler --project p run -- printenv
infisical --log-level error secrets get A
heroku -a app config
flyctl --app a auth token
npx vercel@latest --token t tokens add ci
npx @railway/cli variables
gh auth status --show-token
docker --context c config inspect x
docker -H tcp://h swarm join-token worker
terraform -chdir=dir output
tofu -chdir=dir state pull
pulumi -C d stack output --show-secrets
ansible-vault --vault-id @prompt decrypt a.yml --output -
consul --token t kv get app/db_password
etcdctl --endpoints e get --prefix /registry/secrets
redis-cli -h h -a p CONFIG GET requirepass
npm --registry r token list
pnpm --dir d config get //registry.npmjs.org/:_authToken
firebase --project p login:ci
supabase --workdir d status
stripe --project-name p config --list
twilio -p p api:core:keys:create
eb --profile p printenv
keyring --keyring-backend b get s u
secret-tool lookup a b
security -v find-internet-password -s h -w
powershell -NoProfile -Command "Get-Secret -Name x -AsPlainText"
docker-credential-desktop get
git -c credential.helper=store credential fill
git credential-osxkeychain get
gpg --homedir d --decrypt f.gpg
gpg -qd f.gpg
sops --input-type yaml decrypt f
helm -n x get values y
helm -n x secrets decrypt f
sudo -u postgres cat .pgpass
oc -n ci extract secret/registry --to=-
aws --endpoint-url http://localhost:4566 kms decrypt --ciphertext-blob fileb://x --query Plaintext
aws --profile admin iam create-access-key --user-name ci
aws --profile prod eks get-token --cluster-name main
T=$(aws --profile p codeartifact get-authorization-token --domain d --output text); echo $T
gcloud auth --account me@example.com application-default print-access-token
az storage account --subscription s keys list -n acct
flyctl -c fly.prod.toml tokens create deploy
netlify --auth t env:get API_KEY
consul -http-addr=x acl token read -id 1
"""

_PRINTS_NONE = r"""
kubectl -n prod get pods
kubectl get pods -n secret
kubectl get -n secret pods
kubectl --context get -n secrets get deploy,svc -o wide
kubectl -n prod get secretproviderclass
kubectl -n prod create secret generic x --from-file a
kubectl -n prod describe secrets
kubectl rollout restart deploy/secret
kubectl -n prod logs pod/a --tail 20
kubectl get secret --help
kubectl -n prod get secret x -o yaml > /tmp/secret.yaml
kubectl -n prod get secret x -o yaml | kubectl -n dev apply -f -
kubectl -n prod get secret x -o yaml | grep -q data && echo there
S=$(kubectl -n prod get secret x -o yaml); R=$(make deploy); echo "$R"
S="$(kubectl -n prod get secret x -o yaml)" make deploy
kubectl config current-context
kubectl create namespace token
oc whoami --show-server
oc project secret
aws s3 ls
aws --profile p s3 cp a s3://secretsmanager/get-secret-value
aws --profile p secretsmanager describe-secret --secret-id s
aws ssm put-parameter --name a --value-file b
aws --profile p ssm start-session --target i
aws sts get-caller-identity
aws iam list-access-keys
aws eks update-kubeconfig --name c
aws kms list-keys
aws configure list
gcloud config list
gcloud --project p secrets describe s
gcloud auth login --no-launch-browser
gcloud run deploy secrets --image access
gcloud compute ssh vm --command 'uptime'
az account show
az --subscription s keyvault list
az vm list -o table
vault status
vault kv list -mount=secret app
vault kv metadata get secret/a
vault -version
vault write -f transit/keys/app
vault policy read default
op vault list
op item list
op --version
bw list folders
pass
pass ls
pass list email
pass insert -m email/work
pass show -c email/work
gopass ls
doppler secrets --only-names
doppler setup
infisical init
heroku config:set A=b -a app
heroku apps
heroku logs -a config
gh pr view 12
gh --repo a/b auth status
gh run list --workflow token
gh api repos/a/b/actions/secrets
glab mr list
docker --context c ps
docker secret inspect x
docker compose config --services
docker build -t op --target read .
docker run --name vault -d hashicorp/vault server -dev
docker exec pass ls /app
terraform -chdir=dir plan -out output
terraform show plan.out
terraform state list
pulumi config
pulumi stack output
ansible-vault encrypt a.yml
consul kv get app/feature
etcdctl get /config/a
redis-cli get session
redis-cli config get maxmemory
npm config get registry
npm run token
npm test
firebase deploy --only functions
wrangler secret list
supabase db push
stripe listen
eb status
keyring --list-backends
security find-certificate -a
git log --grep "get secret"
git config --get user.email
git config --list
git credential reject
gpg --list-secret-keys
gpg --import a.asc
age-keygen --output key.txt
sops updatekeys f
helm -n x get notes y
helm show values chart
helm template . --set get=values
echo kubectl get secret x
printf 'op read op://a/b/c'
grep -rn "vault kv get" docs
rg 'gcloud auth print-access-token' -g '*.md'
sed -n 's/kubectl get secret//p' a.md
cat docs/kubectl-get-secret.md
git commit -m "Document vault kv get and op read"
python -c "print('aws secretsmanager get-secret-value')"
cat > README.md <<'EOF'\nkubectl -n prod get secret x -o yaml\nEOF
python - <<'EOF'\ndef f():\n    pass\nEOF
man pass show
which op read
aws ecr get-login-password | docker login -u AWS --password-stdin h
gcloud auth print-access-token | docker login -u oauth2accesstoken --password-stdin h
op read op://v/i/f | gh auth login --with-token
pass show a | pbcopy
op item get key --fields "Private Key" | gpg --import
vault kv get -field=x a | wc -c
curl -H "Authorization: Bearer $(gcloud auth print-access-token)" https://h/v1
GH_TOKEN=$(gh auth token) npm publish
export TOKEN="$(vault kv get -field=t a)"
TOKEN=$(vault print token) && echo done
sudo -u postgres psql -c 'select 1'
sudo -u deploy ls -l /app
ssh host uptime
ssh vault read x
make vault read
cat .env.example
git -C repo credential approve < /tmp/c
"""


def _lines(text: str) -> tuple[str, ...]:
    """Return the commands: a backslash before a line's end is the shell's own."""
    commands = (line.replace("\\\\n", "\\\n").replace("\\n", "\n") for line in text.splitlines())
    return tuple(command for command in commands if command)


PRINTS_SECRETS = _lines(_PRINTS)
HARMLESS = _lines(_PRINTS_NONE)
