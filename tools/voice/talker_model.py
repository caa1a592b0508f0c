"""Talker and code predictor as a training twin: parameter names and numbers of the published model, batched with padding on the right.

A batch row is: prompt rows, then one row a frame. `Talker.trunk` gives the hidden state of every row; `Talker.predictor` the logits of groups
1..15 for chosen frames. `generate` is the batched decoding used by the judge.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

ENTRIES, GROUPS = 256, 16
SPEAKERS = {"lark": 264, "martin": 265}                     # teacher voices af_heart and am_michael
TEACHER = {"af_heart": "lark", "am_michael": "martin"}
IDS = dict(pad=256, bos=257, eos=258, think=259, nothink=260, think_bos=261, think_eos=262, english=263)
VOCAB = ENTRIES + 1024                                   # the published sampler suppresses the last 1024 ids but for the end token


def config(text_vocab, width=256, layers=6, heads=4, kv_heads=2, ffn=512, p_layers=2, p_ffn=512):
    """The talker_config of config.json."""
    return dict(
        vocab_size=VOCAB, hidden_size=width, intermediate_size=ffn, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=64, hidden_act="silu",
        max_position_embeddings=8192, initializer_range=0.02, rms_norm_eps=1e-6, use_cache=True, tie_word_embeddings=False, rope_theta=10000,
        rope_scaling=dict(rope_type="default", type="default", mrope_section=[12, 10, 10], interleaved=True), attention_bias=False, use_sliding_window=False, sliding_window=None,
        attention_dropout=0, num_code_groups=GROUPS, text_hidden_size=width, text_vocab_size=text_vocab, position_id_per_seconds=13, codec_eos_token_id=IDS["eos"],
        codec_think_id=IDS["think"], codec_nothink_id=IDS["nothink"], codec_think_bos_id=IDS["think_bos"], codec_think_eos_id=IDS["think_eos"], codec_pad_id=IDS["pad"], codec_bos_id=IDS["bos"],
        spk_id=dict(SPEAKERS), spk_is_dialect={s: False for s in SPEAKERS}, codec_language_id=dict(english=IDS["english"]),
        code_predictor_config=dict(
            vocab_size=ENTRIES, hidden_size=width, intermediate_size=p_ffn, num_hidden_layers=p_layers, num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=64, hidden_act="silu",
            max_position_embeddings=64, rms_norm_eps=1e-6, rope_theta=10000, rope_scaling=None, attention_bias=False, use_sliding_window=False, sliding_window=None, attention_dropout=0,
            num_code_groups=GROUPS, tie_word_embeddings=False))


class Inner(nn.Module):
    pass


class Rms(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


def rotation(positions, theta, width=64):
    """cos, sin [..., width] of positions."""
    angle = positions[..., None].float() * theta ** (-torch.arange(0, width, 2, device=positions.device).float() / width)
    angle = torch.cat([angle, angle], -1)
    return angle.cos(), angle.sin()


def turn(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, self.heads, self.kv, self.width = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        self.q_proj = nn.Linear(d, self.heads * self.width, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(d, self.kv * self.width, bias=False) for _ in range(2))
        self.o_proj = nn.Linear(self.heads * self.width, d, bias=False)
        self.q_norm, self.k_norm = Rms(self.width, c["rms_norm_eps"]), Rms(self.width, c["rms_norm_eps"])

    def project(self, x, cos, sin):
        b, t, _ = x.shape
        q = self.q_norm(self.q_proj(x).view(b, t, self.heads, self.width)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(b, t, self.kv, self.width)).transpose(1, 2)
        v = self.v_proj(x).view(b, t, self.kv, self.width).transpose(1, 2)
        return turn(q, cos, sin), turn(k, cos, sin), v

    def forward(self, x, cos, sin, mask=None, cache=None, probe=False):
        """Causal over x, or over the cache (keys, values, positions) with an explicit mask. probe: also the raw scores of head 0."""
        b, t, _ = x.shape
        q, k, v = self.project(x, cos, sin)
        if cache is not None:
            keys, values, at = cache
            index = at[:, None, :, None].expand(b, self.kv, t, self.width)
            keys.scatter_(2, index, k)
            values.scatter_(2, index, v)
            k, v = keys, values
        scores = (q[:, 0] @ k[:, 0].transpose(1, 2)) * self.width ** -0.5 if probe else None
        repeat = self.heads // self.kv
        y = F.scaled_dot_product_attention(q, k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1), attn_mask=mask, is_causal=mask is None)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, -1)), scores


class Mlp(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.self_attn, self.mlp = Attention(c), Mlp(c["hidden_size"], c["intermediate_size"])
        self.input_layernorm, self.post_attention_layernorm = (Rms(c["hidden_size"], c["rms_norm_eps"]) for _ in range(2))

    def forward(self, x, cos, sin, mask=None, cache=None, probe=False, drop=0.0):
        y, scores = self.self_attn(self.input_layernorm(x), cos, sin, mask, cache, probe)
        x = x + self.skip(y, drop)
        return x + self.skip(self.mlp(self.post_attention_layernorm(x)), drop), scores

    def skip(self, y, drop):
        """Leaves out whole rows of y at random (training only): as good as dropping single numbers, which takes a CPU fifty times as long."""
        if not self.training or drop == 0:
            return y
        return y * (torch.rand(*y.shape[:-1], 1, device=y.device) >= drop).to(y.dtype) / (1 - drop)


class Talker(nn.Module):
    """Parameter names are those of the published checkpoint below "talker."."""
    GUIDED = (1, 2)          # layers whose head 0 is pulled to the spoken word in training
    TAP = 3                  # layer whose output tells the phone in training

    def __init__(self, c):
        super().__init__()
        self.c, p, d = c, c["code_predictor_config"], c["hidden_size"]
        self.model = Inner()
        self.model.layers = nn.ModuleList([Layer(c) for _ in range(c["num_hidden_layers"])])
        self.model.norm = Rms(d, c["rms_norm_eps"])
        self.model.codec_embedding, self.model.text_embedding = nn.Embedding(VOCAB, d), nn.Embedding(c["text_vocab_size"], c["text_hidden_size"])
        self.text_projection = Inner()
        self.text_projection.linear_fc1, self.text_projection.linear_fc2 = nn.Linear(c["text_hidden_size"], c["text_hidden_size"]), nn.Linear(c["text_hidden_size"], d)
        self.codec_head = nn.Linear(d, VOCAB, bias=False)
        self.code_predictor = Inner()
        self.code_predictor.model = Inner()
        self.code_predictor.model.layers = nn.ModuleList([Layer(p) for _ in range(p["num_hidden_layers"])])
        self.code_predictor.model.norm = Rms(p["hidden_size"], p["rms_norm_eps"])
        self.code_predictor.model.codec_embedding = nn.ModuleList([nn.Embedding(ENTRIES, d) for _ in range(GROUPS - 1)])
        self.code_predictor.lm_head = nn.ModuleList([nn.Linear(p["hidden_size"], ENTRIES, bias=False) for _ in range(GROUPS - 1)])
        depth = c["num_hidden_layers"] + p["num_hidden_layers"]
        for name, w in self.named_parameters():
            if w.ndim == 2:
                std = 0.05 if "embedding" in name else 0.02 if "head" in name else 0.6 / math.sqrt(w.shape[1])
                if name.endswith(("o_proj.weight", "down_proj.weight")):
                    std = 0.02 / math.sqrt(2 * depth)
                nn.init.normal_(w, std=std)

    def text_table(self):
        """T(id) of every text token, [text vocabulary, hidden]."""
        p = self.text_projection
        return p.linear_fc2(F.silu(p.linear_fc1(self.model.text_embedding.weight)))

    def frame(self, codes):
        """Summed embedding of whole frames, codes [..., 16]."""
        x = self.model.codec_embedding(codes[..., 0])
        for g, table in enumerate(self.code_predictor.model.codec_embedding):
            x = x + table(codes[..., g + 1])
        return x

    def trunk(self, x, drop=0.0):
        """[B, T, d] -> (hidden after the final norm, guided scores, output of layer TAP)."""
        cos, sin = rotation(torch.arange(x.shape[1], device=x.device), self.c["rope_theta"])
        scores, middle = [], None
        for i, layer in enumerate(self.model.layers):
            x, s = layer(x, cos, sin, probe=self.training and i in self.GUIDED, drop=drop)
            if s is not None:
                scores.append(s)
            if i == self.TAP:
                middle = x
        return self.model.norm(x), scores, middle

    def predictor(self, hidden, codes, drop=0.0):
        """hidden [N, d] that gave group 0, codes [N, n] of the first n groups -> logits [N, n - 1, entries], teacher forced."""
        n = codes.shape[1]
        rows = [hidden, self.model.codec_embedding(codes[:, 0])]
        rows += [table(codes[:, g + 1]) for g, table in enumerate(self.code_predictor.model.codec_embedding[:n - 2])]
        x = torch.stack(rows, 1)
        cos, sin = rotation(torch.arange(x.shape[1], device=x.device), self.c["code_predictor_config"]["rope_theta"])
        for layer in self.code_predictor.model.layers:
            x, _ = layer(x, cos, sin, drop=drop)
        x = self.code_predictor.model.norm(x)[:, 1:]
        return torch.stack([head(x[:, g]) for g, head in enumerate(self.code_predictor.lm_head[:n - 1])], 1)


def prompt(text_ids, special, role, speaker, streaming, auto=False):
    """Rows of the prompt as (text id or -1, codec id or -1) lists, and the text ids that follow one a frame."""
    tags = [IDS["nothink"], IDS["think_bos"], IDS["think_eos"]] if auto else [IDS["think"], IDS["think_bos"], IDS["english"], IDS["think_eos"]]
    tags += [SPEAKERS[speaker], IDS["pad"]]
    pad, bos, eos = special["<tts_pad>"], special["<tts_text_bos>"], special["<tts_text_eod>"]
    text = [*role, *[pad] * (len(tags) - 1), bos]
    codec = [-1] * len(role) + tags
    if streaming:
        return text + text_ids[:1], codec + [IDS["bos"]], [*text_ids[1:], eos]
    return text + [*text_ids, eos, pad], codec + [IDS["pad"]] * (len(text_ids) + 1) + [IDS["bos"]], []


def choose(logits, temperature, top_k, generator):
    if temperature <= 0:
        return logits.argmax(-1)
    logits = logits / temperature
    if top_k:
        logits = logits.masked_fill(logits < logits.topk(top_k, -1).values[..., -1:], -1e9)
    return torch.multinomial(F.softmax(logits, -1), 1, generator=generator)[:, 0]


def cached(layers, norm, x, at, caches, theta):
    """Layers and norm over new rows x [B, t, d] at the positions at [B, t], with what caches [(keys, values)] hold before them."""
    cos, sin = (v[:, None] for v in rotation(at, theta))
    mask = torch.arange(caches[0][0].shape[2])[None, None, None] <= at[:, None, :, None]
    for layer, (k, v) in zip(layers, caches):
        x, _ = layer(x, cos, sin, mask, (k, v, at))
    return norm(x)


@torch.inference_mode()
def residuals(model, hidden, first, temperature, top_k, generator):
    """Whole frames [N, 16]: the predictor's fifteen steps after hidden [N, d] and its code 0, first [N]."""
    p, theta, n = model.code_predictor, model.c["code_predictor_config"]["rope_theta"], len(first)
    kv = model.c["code_predictor_config"]["num_key_value_heads"]
    caches = [tuple(torch.zeros(n, kv, GROUPS + 1, 64) for _ in range(2)) for _ in p.model.layers]
    frame, y, at = [first], torch.stack([hidden, model.model.codec_embedding(first)], 1), torch.tensor([[0, 1]]).expand(n, 2)
    for g in range(GROUPS - 1):
        y = cached(p.model.layers, p.model.norm, y, at, caches, theta)[:, -1]
        frame.append(choose(p.lm_head[g](y), temperature, top_k, generator))
        y, at = p.model.codec_embedding[g](frame[-1])[:, None], torch.full((n, 1), g + 2)
    return torch.stack(frame, 1)


@torch.inference_mode()
def generate(model, tokenizer, special, texts, speaker, streaming=False, temperature=0.9, top_k=50, sub_temperature=0.9, sub_top_k=50, penalty=1.05, max_frames=400, seed=0):
    """Codes [T, 16] of each text and whether it ran into max_frames; the published sampling rules, batched."""
    gen = torch.Generator().manual_seed(seed)
    role = [special["<|im_start|>"], *tokenizer.encode("assistant\n").ids]
    table, codec = model.text_table(), model.model.codec_embedding.weight
    rows, trails = [], []
    for text in texts:
        t, c, trail = prompt(tokenizer.encode(text).ids, special, role, speaker, streaming)
        t, c = torch.tensor(t), torch.tensor(c)
        rows.append(table[t] + codec[c.clamp(min=0)] * (c >= 0)[:, None])
        trails.append(table[trail])
    b, lengths = len(texts), torch.tensor([len(r) for r in rows])
    longest, d, kv = int(lengths.max()), model.c["hidden_size"], model.c["num_key_value_heads"]
    total = longest + max_frames + 1
    x = torch.zeros(b, longest, d)
    for i, r in enumerate(rows):
        x[i, :len(r)] = r
    caches = [(torch.zeros(b, kv, total, 64), torch.zeros(b, kv, total, 64)) for _ in model.model.layers]

    theta = model.c["rope_theta"]
    h = cached(model.model.layers, model.model.norm, x, torch.arange(longest)[None].expand(b, longest), caches, theta)[torch.arange(b), lengths - 1]
    allowed = torch.cat([torch.ones(ENTRIES, dtype=torch.bool), torch.arange(ENTRIES, VOCAB) == IDS["eos"]])
    done, out, seen = torch.zeros(b, dtype=torch.bool), [[] for _ in texts], torch.zeros(b, VOCAB, dtype=torch.bool)
    for t in range(max_frames):
        logits = model.codec_head(h)
        if penalty != 1:
            logits = torch.where(seen, torch.where(logits < 0, logits * penalty, logits / penalty), logits)
        logits = logits.masked_fill(~allowed, -1e9)
        if t < 2:
            logits[:, IDS["eos"]] = -1e9
        first = choose(logits, temperature, top_k, gen)
        seen[torch.arange(b), first] = True
        done |= first == IDS["eos"]
        if done.all():
            break
        first = first.clamp(max=ENTRIES - 1)
        frame = residuals(model, h, first, sub_temperature, sub_top_k, gen)
        for i in range(b):
            if not done[i]:
                out[i].append(frame[i])
        follow = torch.stack([tr[t] if t < len(tr) else table[special["<tts_pad>"]] for tr in trails])
        h = cached(model.model.layers, model.model.norm, (model.frame(frame) + follow)[:, None], (lengths + t)[:, None], caches, theta)[:, 0]
    return [torch.stack(o) if o else torch.zeros(1, GROUPS, dtype=torch.long) for o in out], ~done
