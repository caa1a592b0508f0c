"""The optimizer of matrices: momentum whose update is made orthogonal by five Newton-Schulz steps (Muon).

Matrices of one shape go together; where WORLD processes share a step (MYNAH_VOICE_WORLD, MYNAH_VOICE_RANK), each takes its part of them.
"""
import os

import torch
import torch.distributed as dist

RANK, WORLD = int(os.environ.get("MYNAH_VOICE_RANK", 0)), int(os.environ.get("MYNAH_VOICE_WORLD", 1))


def orthogonal(x):
    tall = x.shape[1] > x.shape[2]
    x = x.transpose(1, 2) if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return x.transpose(1, 2) if tall else x


class Muon:
    """weights have two dimensions or more; those beyond the first, such as a convolution's taps, are taken as one."""

    def __init__(self, weights, momentum=0.95):
        self.groups, self.momentum = {}, momentum
        for w in weights:
            self.groups.setdefault(tuple(w.flatten(1).shape), []).append(w)
        self.state = {shape: torch.zeros(len(ws), *shape, device=ws[0].device) for shape, ws in self.groups.items()}

    @torch.no_grad()
    def step(self, rate, decay=0.01):
        for shape, ws in self.groups.items():
            g, m = torch.stack([w.grad.flatten(1) for w in ws]), self.state[shape]
            m.lerp_(g, 1 - self.momentum)
            x = g.lerp(m, self.momentum)
            updates = torch.zeros_like(x)
            updates[RANK::WORLD] = orthogonal(x[RANK::WORLD])
            if WORLD > 1:
                dist.all_reduce(updates)
            for w, u in zip(ws, updates):
                w.mul_(1 - rate * decay).add_(u.view_as(w), alpha=-rate * max(1, shape[0] / shape[1]) ** 0.5)
