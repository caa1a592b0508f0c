"""Stage 10: the compact form of a checkpoint, as the program embeds it: bfloat16 rows that lie on an 8-bit grid are stored as int8.

    python compact.py DIR OUT              # DIR as export.py wrote it; OUT/... the same files, model.safetensors as model.safetensors.compact
    python compact.py --expand OUT DIR     # back again

Nothing is lost: export.py has rounded the matrices already (`grid`), so that a row is 8-bit integers times a power of two, and every such number
is a bfloat16. What is on no grid stays as it is. The result is expanded again and compared byte for byte before the command ends.
The form is described in internal/voice/compact.go, which reads it. NumPy alone.
"""
import argparse
import json
import os
import shutil
import struct

import numpy as np

MAGIC, SUFFIX = b"mynah compact 1\n", ".compact"
VERBATIM, ZEROS, SCALED = range(3)
LOWEST, HIGHEST = -126, 120      # exponents
MIN_WIDTH = 32                   # shorter rows would pay for their exponents and gain little
ZERO_RUN = 64                    # bytes of zero that are worth a piece of their own


def grid(weight, candidates=3):
    """weight float [rows, ...] -> the same shape, each row rounded to q * 2**e with |q| <= 127: e is the candidate with the least squared
    error, from the smallest step that clips nothing downwards. Every value is a bfloat16 then."""
    rows = np.asarray(weight, np.float32).reshape(len(weight), -1)
    top = np.abs(rows).max(1)
    first = np.ceil(np.log2(np.maximum(top, 1e-30) / 127)).astype(np.int64)
    best, least = np.zeros_like(rows), np.full(len(rows), np.inf)
    for lower in range(candidates):
        step = np.exp2(np.clip(first - lower, LOWEST, HIGHEST).astype(np.float64)).astype(np.float32)[:, None]
        got = np.clip(np.rint(rows / step), -127, 127) * step + np.float32(0)    # + 0: no negative zero
        error = np.square((got - rows).astype(np.float64)).sum(1)
        better = error < least
        best[better], least[better] = got[better], error[better]
    best[top == 0] = 0
    return best.reshape(np.shape(weight))


def wanted(name, shape):
    """Which tensors export.py rounds: matrices and convolutions of 64 channels and more on both sides. What is smaller costs little as it is, and
    the codec's last stages would be heard: their error falls into the quiet parts of the spectrum. The codebooks stay too, which have few large
    axes an entry: rounded, they would be the largest error of all."""
    return len(shape) >= 2 and min(shape[:2]) >= 64 and not name.endswith("._codebook.embedding_sum")


def integers(bits):
    """bits uint16 [rows, width] of bfloat16 -> (exponents int8 [rows], q int8 [rows, width]), or None where a row is on no grid."""
    exponent, mantissa = (bits >> 7 & 255).astype(np.int64), (bits & 127).astype(np.int64)
    normal = (exponent > 0) & (exponent < 255)
    if not (normal | (bits == 0)).all():
        return None
    mantissa += 128
    low = np.where(normal, exponent - 134 + np.log2(mantissa & -mantissa).astype(np.int64), 1 << 20).min(1)     # exponent of the lowest bit that is set
    low[low == 1 << 20] = 0
    shift = exponent - 134 - low[:, None]
    if (normal & (shift > 7)).any():
        return None
    q = np.where(normal, np.where(shift >= 0, mantissa << np.maximum(shift, 0), mantissa >> np.maximum(-shift, 0)), 0)
    if q.max() > 127 or low.min() < LOWEST or low.max() > HIGHEST:
        return None
    return low.astype(np.int8), np.where(bits >> 15, -q, q).astype(np.int8)


def pieces(file):
    """Bytes of a safetensors file -> (kind, rows, width, payload) pieces, in the order of the bytes."""
    size = 8 + struct.unpack("<Q", file[:8])[0]
    header = json.loads(file[8:size])
    header.pop("__metadata__", None)
    yield VERBATIM, 1, size, file[:size]
    for entry in sorted(header.values(), key=lambda e: e["data_offsets"]):
        data = file[size + entry["data_offsets"][0]:size + entry["data_offsets"][1]]
        shape = entry["shape"]
        rows = shape[0] if len(shape) >= 2 else 1
        found = None
        if data and entry["dtype"] == "BF16" and len(shape) >= 2 and len(data) >= 2 * rows * MIN_WIDTH:
            bits = np.frombuffer(data, "<u2").reshape(rows, -1)
            found = integers(bits)
        if found is None:
            if data:
                yield (ZEROS, 1, len(data), b"") if len(data) >= ZERO_RUN and not any(data) else (VERBATIM, 1, len(data), data)
            continue
        exponents, q = found
        empty = ~q.any(1)
        edges = [0, *(np.flatnonzero(empty[1:] != empty[:-1]) + 1), rows]       # runs of rows that are zero, and that are not
        for begin, end in zip(edges, edges[1:]):
            if empty[begin]:
                yield ZEROS, end - begin, 2 * q.shape[1], b""
            else:
                yield SCALED, end - begin, q.shape[1], exponents[begin:end].tobytes() + q[begin:end].tobytes()


def pack(file):
    joined = []
    for piece in pieces(file):
        last = joined[-1] if joined else None
        if last and piece[0] == VERBATIM == last[0]:
            joined[-1] = (VERBATIM, 1, last[2] + piece[2], last[3] + piece[3])
        else:
            joined.append(piece)
    table = b"".join(struct.pack("<III", kind, rows, width) for kind, rows, width, _ in joined)
    return MAGIC + struct.pack("<I", len(joined)) + table + b"".join(p[3] for p in joined)


def expand(packed):
    if packed[:16] != MAGIC:
        raise ValueError("no compact file")
    count = struct.unpack("<I", packed[16:20])[0]
    at, out = 20 + 12 * count, []
    for kind, rows, width in struct.iter_unpack("<III", packed[20:at]):
        size = rows * width
        if kind == VERBATIM:
            out.append(packed[at:at + size])
            at += size
        elif kind == ZEROS:
            out.append(bytes(size))
        else:
            exponents = np.frombuffer(packed, np.int8, rows, at)
            q = np.frombuffer(packed, np.int8, size, at + rows).reshape(rows, width)
            out.append((np.ldexp(q.astype(np.float32), exponents[:, None].astype(np.int32)).view(np.uint32) >> 16).astype("<u2").tobytes())
            at += rows + size
    if at != len(packed):
        raise ValueError(f"{len(packed)} bytes, the pieces end at {at}")
    return b"".join(out)


def convert(source, target, back):
    total = 0
    for folder, _, names in os.walk(source):
        to = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(to, exist_ok=True)
        for name in sorted(names):
            path, out = os.path.join(folder, name), os.path.join(to, name)
            with open(path, "rb") as f:
                data = f.read()
            before = len(data)
            if back and name.endswith(SUFFIX):
                data, out = expand(data), out.removesuffix(SUFFIX)
            elif not back and name.endswith(".safetensors"):
                plain, data, out = data, pack(data), out + SUFFIX
                if expand(data) != plain:
                    raise SystemExit(f"{path}: the compact form expands to other bytes")
            with open(out, "wb") as f:
                f.write(data)
            total += len(data)
            print(f"{before:10d} -> {len(data):10d} {os.path.normpath(out)}")
    print(f"{total:10d} bytes" + ("" if back else "; expands to the same bytes"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--expand", action="store_true")
    args = parser.parse_args()
    convert(args.source, args.target, args.expand)
