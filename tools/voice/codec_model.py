"""The codec decoder as a training twin: parameter names and numbers of the published 12.5 Hz decoder, layout chosen for speed on a CPU.

codes int64 [B, 16, T] -> samples [B, T * 1920]. Inside the waveform stack everything is [B, channels, 1, time] with channels last in
memory, which the CPU's convolutions prefer by a factor of up to two. `valid` marks frames that exist: frames before the
utterance's start are silent zeros, as the published decoder pads them.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIG = dict(
    codebook_size=256, codebook_dim=256, latent_dim=256, hidden_size=192, intermediate_size=512, num_hidden_layers=3, num_attention_heads=3,
    num_key_value_heads=3, head_dim=64, sliding_window=72, rope_theta=10000, rms_norm_eps=1e-5, layer_scale_initial_scale=0.1, attention_bias=False,
    attention_dropout=0.0, hidden_act="silu", max_position_embeddings=8000, num_quantizers=16, upsample_rates=(8, 5, 4, 3), upsampling_ratios=(2, 2), decoder_dim=192)


class Rms(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


class Inner(nn.Module):
    """Holds one parameter set under the name the published layout gives it (`conv`, `scale`, ...)."""


class CausalConv(nn.Module):
    """Stride 1, (k - 1) * dilation zeros on the left. [B, in, 1, T] -> [B, out, 1, T]."""

    def __init__(self, inputs, outputs, taps, dilation=1, groups=1):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, taps, dilation=dilation, groups=groups)
        self.dilation, self.pad, self.groups = dilation, (taps - 1) * dilation, groups

    def forward(self, x):
        if self.pad:
            x = F.pad(x, (self.pad, 0))
        return F.conv2d(x, self.conv.weight.unsqueeze(2), self.conv.bias, dilation=(1, self.dilation), groups=self.groups)


class TransposedConv(nn.Module):
    """k = taps, stride s, the last k - s samples cut: every input step gives s samples and depends on nothing later."""

    def __init__(self, inputs, outputs, taps, stride):
        super().__init__()
        self.conv = nn.ConvTranspose1d(inputs, outputs, taps, stride=stride)
        self.stride = stride

    def forward(self, x):
        steps = x.shape[-1]
        y = F.conv_transpose2d(x, self.conv.weight.unsqueeze(2), self.conv.bias, stride=(1, self.stride))
        return y[..., :steps * self.stride]


LANES = 96


def _sway(x, a, b):
    return x + torch.sin(x * a).square() * b


def _sway_back(g, x, a, b):
    """Gradients by x, by log a and (negated) by log 1/b, the last two before the sum over rows."""
    turn = x * a
    s = torch.sin(turn)
    r = g * s * b
    twice = 2 * r * torch.cos(turn)
    return g + twice * a, twice * turn, r * s


class _SnakeRows(torch.autograd.Function):
    """Snake over x [rows, channels]. Few channels are no whole vectors: LANES / channels rows are taken as one, whatever the stage."""
    forward_rows, backward_rows = _sway, _sway_back

    @staticmethod
    def forward(ctx, x, alpha, beta):
        rows, n = x.shape
        k = LANES // n if n < LANES and rows % (LANES // n) == 0 else 1
        a, b = alpha.exp().repeat(k), (1 / (beta.exp() + 1e-9)).repeat(k)
        ctx.save_for_backward(x, a, b)
        return _SnakeRows.forward_rows(x.view(-1, n * k), a, b).view(x.shape)

    @staticmethod
    def backward(ctx, g):
        x, a, b = ctx.saved_tensors
        n, wide = x.shape[1], len(a)
        dx, da, db = _SnakeRows.backward_rows(g.contiguous().view(-1, wide), x.view(-1, wide), a, b)
        return dx.view(x.shape), da.sum(0).view(-1, n).sum(0), -db.sum(0).view(-1, n).sum(0)


snake = _SnakeRows.apply


def compile_snake():
    """Compiled for training: a third of the time in eager mode, for every stage the same two kernels."""
    _SnakeRows.forward_rows = staticmethod(torch.compile(_sway, dynamic=True))
    _SnakeRows.backward_rows = staticmethod(torch.compile(_sway_back, dynamic=True))


class Snake(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(width))
        self.beta = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        rows = x.permute(0, 2, 3, 1)
        return snake(rows.reshape(-1, x.shape[1]), self.alpha, self.beta).view(rows.shape).permute(0, 3, 1, 2)


class ResidualUnit(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.act1, self.conv1 = Snake(width), CausalConv(width, width, 7, dilation)
        self.act2, self.conv2 = Snake(width), CausalConv(width, width, 1)

    def forward(self, x):
        return x + self.conv2(self.act2(self.conv1(self.act1(x))))


class UpBlock(nn.Module):
    def __init__(self, inputs, outputs, rate):
        super().__init__()
        self.block = nn.ModuleList([Snake(inputs), TransposedConv(inputs, outputs, 2 * rate, rate), *(ResidualUnit(outputs, d) for d in (1, 3, 9))])

    def forward(self, x):
        for b in self.block:
            x = b(x)
        return x


class ConvNext(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dwconv = CausalConv(width, width, 7, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.pwconv1, self.pwconv2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x):
        y = self.norm(self.dwconv(x)[:, :, 0].transpose(1, 2))
        y = self.gamma * self.pwconv2(F.gelu(self.pwconv1(y)))
        return x + y.transpose(1, 2).unsqueeze(2)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.width = c["num_attention_heads"], c["head_dim"]
        inner = self.heads * self.width
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(c["hidden_size"], inner, bias=False) for _ in range(3))
        self.o_proj = nn.Linear(inner, c["hidden_size"], bias=False)

    def forward(self, x, cos, sin, mask):
        b, t, _ = x.shape
        q, k, v = (p(x).view(b, t, self.heads, self.width).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        turn = lambda y: y * cos + torch.cat([-y[..., self.width // 2:], y[..., :self.width // 2]], -1) * sin
        y = F.scaled_dot_product_attention(turn(q), turn(k), v, attn_mask=mask)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, -1))


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False) for _ in range(2))
        self.down_proj = nn.Linear(c["intermediate_size"], c["hidden_size"], bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Scale(nn.Module):
    def __init__(self, width, value):
        super().__init__()
        self.scale = nn.Parameter(torch.full((width,), value))

    def forward(self, x):
        return x * self.scale


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.self_attn, self.mlp = Attention(c), Mlp(c)
        self.input_layernorm, self.post_attention_layernorm = (Rms(c["hidden_size"], c["rms_norm_eps"]) for _ in range(2))
        self.self_attn_layer_scale, self.mlp_layer_scale = (Scale(c["hidden_size"], c["layer_scale_initial_scale"]) for _ in range(2))

    def forward(self, x, cos, sin, mask):
        x = x + self.self_attn_layer_scale(self.self_attn(self.input_layernorm(x), cos, sin, mask))
        return x + self.mlp_layer_scale(self.mlp(self.post_attention_layernorm(x)))


class Transformer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.input_proj, self.output_proj = nn.Linear(c["latent_dim"], c["hidden_size"]), nn.Linear(c["hidden_size"], c["latent_dim"])
        self.layers = nn.ModuleList([Layer(c) for _ in range(c["num_hidden_layers"])])
        self.norm = Rms(c["hidden_size"], c["rms_norm_eps"])

    def forward(self, x, valid):
        t, width = x.shape[1], self.c["head_dim"]
        at = x.device
        angle = torch.outer(torch.arange(t, device=at).float(), self.c["rope_theta"] ** (-torch.arange(0, width, 2, device=at).float() / width))
        angle = torch.cat([angle, angle], -1)
        step = torch.arange(t, device=at)
        mask = (step[None] <= step[:, None]) & (step[None] > step[:, None] - self.c["sliding_window"])
        if valid is not None:
            mask = mask[None, None] & (valid[:, None, None, :] | torch.eye(t, dtype=torch.bool, device=at))
        x = self.input_proj(x)
        for layer in self.layers:
            x = layer(x, angle.cos(), angle.sin(), mask)
        return self.output_proj(self.norm(x))


class Book(nn.Module):
    def __init__(self, entries, width):
        super().__init__()
        self._codebook = Inner()
        self._codebook.cluster_usage = nn.Parameter(torch.ones(entries), requires_grad=False)
        self._codebook.embedding_sum = nn.Parameter(torch.zeros(entries, width))


class Quantizer(nn.Module):
    """Sum of the entries of its books, then a 1x1 projection. The published input_proj is never used; it is zero."""

    def __init__(self, books, entries, width, outputs):
        super().__init__()
        self.vq = Inner()
        self.vq.layers = nn.ModuleList([Book(entries, width) for _ in range(books)])
        self.input_proj = nn.Conv1d(outputs, width, 1, bias=False)
        self.input_proj.weight.requires_grad_(False).zero_()
        self.output_proj = nn.Conv1d(width, outputs, 1, bias=False)

    def forward(self, codes):
        x = sum(F.embedding(codes[:, i], b._codebook.embedding_sum) for i, b in enumerate(self.vq.layers))
        return x @ self.output_proj.weight[:, :, 0].t()


class Decoder(nn.Module):
    def __init__(self, **changes):
        super().__init__()
        c = self.c = {**CONFIG, **changes}
        half, dim, latent = c["codebook_dim"] // 2, c["decoder_dim"], c["latent_dim"]
        self.quantizer = Inner()
        self.quantizer.rvq_first = Quantizer(1, c["codebook_size"], half, c["codebook_dim"])
        self.quantizer.rvq_rest = Quantizer(c["num_quantizers"] - 1, c["codebook_size"], half, c["codebook_dim"])
        self.pre_conv = CausalConv(c["codebook_dim"], latent, 3)
        self.pre_transformer = Transformer(c)
        self.upsample = nn.ModuleList([nn.ModuleList([TransposedConv(latent, latent, r, r), ConvNext(latent)]) for r in c["upsampling_ratios"]])
        stack = [CausalConv(latent, dim, 7)]
        for i, rate in enumerate(c["upsample_rates"]):
            stack.append(UpBlock(dim >> i, dim >> (i + 1), rate))
        last = dim >> len(c["upsample_rates"])
        self.decoder = nn.ModuleList([*stack, Snake(last), CausalConv(last, 1, 7)])

    def latents(self, codes, valid=None):
        """codes [B, 16, T], valid bool [B, T] -> [B, latent, 1, 4 T] at 50 Hz."""
        x = self.quantizer.rvq_first(codes[:, :1]) + self.quantizer.rvq_rest(codes[:, 1:])
        if valid is not None:
            x = x * valid[..., None]
        x = self.pre_conv(x.transpose(1, 2).unsqueeze(2))[:, :, 0].transpose(1, 2)
        x = self.pre_transformer(x, valid).transpose(1, 2).unsqueeze(2)
        for up, block in self.upsample:
            if valid is not None:
                x = x * valid.repeat_interleave(x.shape[-1] // valid.shape[1], 1)[:, None, None]
            x = block(up(x))
        if valid is not None:
            x = x * valid.repeat_interleave(4, 1)[:, None, None]
        return x

    def wave(self, latents):
        """[B, latent, 1, S] -> [B, S * 480], not clamped."""
        x = latents.contiguous(memory_format=torch.channels_last)
        for block in self.decoder:
            x = block(x)
        return x[:, 0, 0]

    def forward(self, codes):
        return self.wave(self.latents(codes)).clamp(-1, 1)

    def set_books(self, entries):
        """Starts the entries from the closed-form codebooks (codebook.entries): all groups in one space."""
        half, width = self.c["codebook_dim"] // 2, entries.shape[2]
        scale = torch.ones(width)
        scale[:-8] = 1.0 / float(entries[0].square().sum(1).mean().sqrt()) * math.sqrt(width / 2)
        scale[-8:] = 1 / 4.0                                # pitch: semitones and voicing
        for book, entry in zip([self.quantizer.rvq_first.vq.layers[0], *self.quantizer.rvq_rest.vq.layers], entries):
            book._codebook.embedding_sum.data[:, :width] = entry * scale
        for q in (self.quantizer.rvq_first, self.quantizer.rvq_rest):
            nn.init.normal_(q.output_proj.weight, std=1 / math.sqrt(half))
        self.quantizer.rvq_rest.output_proj.weight.data.copy_(self.quantizer.rvq_first.output_proj.weight.data)
