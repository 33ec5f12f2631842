"""Language models, speech, images, vectors, search for agents.

Rows as `tokens.py` describes them.
"""

from __future__ import annotations

MODELS: tuple[tuple[str, ...], ...] = (
    (
        "openai-key",
        *(f"sk-{kind}-{{w:40,}}" for kind in ("proj", "svcacct", "admin", "None")),
        "sk-{a:20,}T3BlbkFJ{a:20,}",
    ),
    ("openai-style-key", "sk-{w:32,}"),
    ("anthropic-key", "sk-ant-{w:32,}"),
    ("openrouter-key", "sk-or-v1-{h:64}"),
    ("groq-key", "gsk_{a:40,}"),
    ("xai-key", "xai-{w:60,}"),
    ("perplexity-key", "pplx-{a:40,}"),
    ("huggingface-token", "hf_{a:30,}", "api_org_{a:30,}"),
    ("replicate-token", "r8_{a:37}"),
    ("together-key", "tgp_v1_{w:40,}"),
    ("fireworks-key", "fw_{a:22,}"),
    ("nvidia-key", "nvapi-{w:60,}"),
    ("elevenlabs-key", "sk_{h:48}"),
    ("langsmith-key", "ls__{h:32}", "lsv2_pt_{h:32}_{h:10}", "lsv2_sk_{h:32}_{h:10}"),
    ("langfuse-key", "sk-lf-{uuid}"),
    ("pinecone-key", "pcsk_{a:5,}_{a:50,}"),
    ("tavily-key", "tvly-{w:30,}"),
    ("brave-search-key", "BSA{w:26,}"),
    ("runpod-key", "rpa_{a:28,}"),
    ("firecrawl-key", "fc-{h:32}"),
    ("voyage-key", "pa-{w:43}"),
    ("cursor-runway-key", "key_{h:64}", "key_{h:128}", "key_{h:28}"),
    ("wandb-key", "wandb_v1_{w:60,}"),
    ("zai-key", "{h:32}.{a:16}"),
    ("ollama-key", "{h:32}.{w:24}"),
    ("fal-key", "{uuid}:{h:32}"),
    ("anyscale-key", "esecret_{l:26,}", "aseld_{l:26,}"),
    ("promptlayer-key", "pl_{h:32}"),
    ("twelvelabs-key", "tlk_{u:28,}"),
    ("cartesia-key", "sk_car_{a:20,}"),
    ("baidu-ai-key", "bce-v3/ALTAK-{a:21}/{h:40}"),
    ("chutes-key", "cpk_{h:32}.{h:32}.{a:32}"),
    ("cursor-key", "crsr_{h:64}"),
    ("mixedbread-key", "emb_{h:48}"),
    ("hyperbrowser-key", "hb_{h:28}"),
    ("context7-key", "ctx7sk-{uuid}", "ctx7sk_{w:30,}"),
    ("mcp-cloud-key", "mcp_sk_{a:32,}"),
    ("composio-key", "ak_{w:20}", "oak_{w:20}", "uak_{w:43}"),
    ("langfuse-public-key", "pk-lf-{uuid}"),
    ("scrapfly-key", "scp-live-{h:32}", "scp-test-{h:32}"),
    ("openpipe-key", "opk_{h:40,}"),
    (
        "authress-key",
        "sc_{a:5,40}.{l:4,6}.acc-{w:8,40}.{e:30,120}",
        "ext_{a:5,40}.{l:4,6}.acc-{w:8,40}.{e:30,120}",
    ),
)  # fmt: skip
