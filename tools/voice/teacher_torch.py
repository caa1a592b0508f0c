"""The teacher with its waveform generator in PyTorch, about twice as fast on one AVX2 core as the ONNX graph; same weights, same sound.

Nine tenths of the teacher's time are wide one-dimensional convolutions (7 and 11 taps, 128 and 256 channels). Here they run through a
short discrete Fourier transform over time: blocks of N samples become R real rows (three products for a complex one), each row is one
matrix product over the channels, and a second small matrix leads back. 11 taps cost 2.1 products a sample instead of 11. Dilated
convolutions are the same on every d-th sample. Everything before the generator stays in ONNX.

    python teacher_torch.py      # compares with the ONNX teacher and times both
"""
import math
import os

import numpy as np
import torch
import torch.nn.functional as F

import paths
from teacher import DURATIONS, MAX_PHONEMES, PITCH, VOCAB

FEATURES = "/decoder/decoder/decode.3/Div_4_output_0"            # [1, 512, T], 80 a second
HARMONICS = "/decoder/decoder/generator/Concat_3_output_0"       # [1, 22, 60 T + 1], spectrum and phase of the harmonic source
GENERATOR = "/decoder/decoder/generator/"
BLOCKS = 160                                                     # Fourier blocks worked on at once; keeps a tile in the cache
FOURIER = {11: 32, 7: 24}                                        # taps -> N; other convolutions run directly


def fourier_matrices(n, taps):
    """(forward [R, n], inverse [n - taps + 1, R], weight transform) of the block correlation y[t] = sum_j w[j] x[t + j]."""
    angle = 2 * math.pi / n
    t = np.arange(n)
    out = np.arange(n - taps + 1)
    forward, inverse, kinds = [], [], []
    for f in range(n // 2 + 1):
        re, im = np.cos(angle * f * t), -np.sin(angle * f * t)
        scale = (1 if f in (0, n // 2) else 2) / n
        back_re, back_im = scale * np.cos(angle * f * out), -scale * np.sin(angle * f * out)
        if f in (0, n // 2):
            forward.append(re)
            inverse.append(back_re)
            kinds.append((f, "re"))
            continue
        # (a + bi)(c + di): p1 = c (a + b), p2 = a (d - c), p3 = b (c + d); real part p1 - p3, imaginary part p1 + p2
        forward += [re + im, re, im]
        inverse += [back_re + back_im, back_im, -back_re]
        kinds += [(f, "c"), (f, "d-c"), (f, "c+d")]

    def weights(w):
        """[out, in, taps] -> [R, in, out]; a correlation multiplies by the conjugate spectrum."""
        spectrum = np.conj(np.fft.fft(w.astype(np.float64), n, axis=-1))
        pick = {"re": lambda s: s.real, "c": lambda s: s.real, "d-c": lambda s: s.imag - s.real, "c+d": lambda s: s.real + s.imag}
        return np.stack([pick[kind](spectrum[..., f]).T for f, kind in kinds])

    return np.stack(forward), np.stack(inverse).T, weights


class Conv:
    """'Same' convolution of [time, channels]."""

    def __init__(self, weight, bias, dilation):
        self.taps, self.dilation = weight.shape[2], dilation
        self.bias = torch.from_numpy(bias.copy())
        self.n = FOURIER.get(self.taps)
        if self.n:
            forward, inverse, transform = fourier_matrices(self.n, self.taps)
            self.forward_matrix = torch.from_numpy(forward).float()
            self.inverse_matrix = torch.from_numpy(inverse).float()
            self.weight = torch.from_numpy(transform(weight)).float().contiguous()
        else:
            self.weight = torch.from_numpy(weight.copy()).unsqueeze(2).contiguous(memory_format=torch.channels_last)

    def __call__(self, x):
        t, c = x.shape
        d, pad = self.dilation, self.dilation * (self.taps - 1) // 2
        if not self.n:
            image = x.t().unsqueeze(0).unsqueeze(2)                       # [1, C, 1, T], channels last in memory
            return F.conv2d(image, self.weight, self.bias, padding=(0, pad), dilation=(1, d))[0, :, 0].t()
        m = self.n - self.taps + 1
        blocks = -(-t // (m * d))
        x = F.pad(x, (0, 0, pad, (blocks * m + self.taps - 1) * d - t - pad))
        out = torch.empty(blocks, m, d, self.weight.shape[2])
        for b in range(0, blocks, BLOCKS):
            k = min(BLOCKS, blocks - b)
            view = x.as_strided((self.n, k, d * c), (d * c, m * d * c, 1), x.storage_offset() + b * m * d * c)
            rows = torch.mm(self.forward_matrix, view.reshape(self.n, -1)).view(-1, k * d, c)
            rows = torch.bmm(rows, self.weight)
            part = torch.mm(self.inverse_matrix, rows.view(len(rows), -1)).view(m, k, d, -1)
            out[b:b + k].copy_(part.transpose(0, 1))
        return out.view(blocks * m * d, -1)[:t].add_(self.bias)


def _snake(x, gain, shift, alpha, inverse):
    y = torch.addcmul(shift, x, gain)
    s = torch.sin(y * alpha)
    return torch.addcmul(y, s * s, inverse)


class Block:
    """Three times: normalise with the style, snake, dilated convolution, normalise, snake, convolution, add."""

    def __init__(self, name, init, dilations=(1, 3, 5)):
        self.steps = []
        prefix = GENERATOR[1:].replace("/", ".") + name
        for i, d in enumerate(dilations):
            for part, dil in (("1", d), ("2", 1)):
                conv = Conv(init[f"{GENERATOR}{name}/convs{part}.{i}/Conv_output_0_output_quantized_float_weight"], init[f"{prefix}.convs{part}.{i}.bias"], dil)
                fc = torch.from_numpy(init[f"{GENERATOR}{name}/adain{part}.{i}/fc/Gemm_output_0_MatMul_output_quantized_float_weight"].copy())
                alpha = torch.from_numpy(init[f"{prefix}.alpha{part}.{i}"].reshape(-1).copy())
                self.steps.append((fc, torch.from_numpy(init[f"{prefix}.adain{part}.{i}.fc.bias"].copy()), alpha, 1 / alpha, conv))

    def __call__(self, x, style, snake):
        for k in range(0, len(self.steps), 2):
            y = x
            for fc, bias, alpha, inverse, conv in self.steps[k:k + 2]:
                gain, shift = (style @ fc + bias).view(2, -1)
                share = torch.full((len(y),), 1 / len(y))
                y = y - torch.mv(y.t(), share)                           # products with a vector: faster than var_mean over the outer axis
                variance = torch.mv((y * y).t(), share)
                gain = (gain + 1) * torch.rsqrt(variance + 1e-5)
                y = conv(snake(y, gain, shift, alpha, inverse))
            x = x + y
        return x


class Teacher:
    """Same interface as teacher.Teacher."""

    def __init__(self, threads=1, compiled=True):
        import onnx
        import onnxruntime
        from onnx import numpy_helper

        torch.set_num_threads(threads)
        source, front = paths.file("teacher", "kokoro.onnx"), paths.file("teacher", "front.onnx")
        model = onnx.load(source)
        if not os.path.exists(front):
            extractor = onnx.utils.Extractor(model)
            part = extractor.extract_model(["tokens", "style", "speed"], [FEATURES, HARMONICS, DURATIONS, PITCH])
            onnx.save(part, front + ".tmp")
            os.replace(front + ".tmp", front)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(front, options, providers=["CPUExecutionProvider"])
        self.styles = np.load(paths.file("teacher", "voices.npz"))
        init = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        nodes = {n.name: n for n in model.graph.node}
        dot = GENERATOR[1:].replace("/", ".")

        def conv(name):
            n = nodes[GENERATOR + name]
            return torch.from_numpy(init[n.input[1]].copy()), torch.from_numpy(init[n.input[2]].copy())

        self.noise_convs = [conv("noise_convs.0/Conv_quant_float"), conv("noise_convs.1/Conv_quant_float")]
        self.noise_blocks = [Block("noise_res.0", init), Block("noise_res.1", init)]
        self.ups = [conv("ups.0/ConvTranspose"), conv("ups.1/ConvTranspose")]
        self.blocks = [[Block(f"resblocks.{3 * i + j}", init) for j in range(3)] for i in range(2)]
        self.post = conv("conv_post/Conv")
        self.window = torch.hann_window(20)
        self.snake = torch.compile(_snake, dynamic=True) if compiled else _snake

    @torch.inference_mode()
    def generate(self, features, harmonics, style):
        """[1, 512, T] and [1, 22, 60 T + 1] -> samples [300 T]."""
        x = features
        for i, (stride, pad) in enumerate(((10, 5), (6, 3))):
            x = F.leaky_relu(x, 0.1)
            weight, bias = self.noise_convs[i]
            source = F.conv1d(harmonics, weight, bias, stride=6 if i == 0 else 1, padding=3 if i == 0 else 0)
            source = self.noise_blocks[i](source[0].t().contiguous(), style, self.snake)
            x = F.conv_transpose1d(x, self.ups[i][0], self.ups[i][1], stride=stride, padding=pad)
            if i == 1:
                x = F.pad(x, (1, 0), mode="reflect")
            x = x[0].t().contiguous() + source
            x = sum(block(x, style, self.snake) for block in self.blocks[i]) / 3
            x = x.t().unsqueeze(0)
        x = F.conv1d(F.leaky_relu(x, 0.01), self.post[0], self.post[1], padding=3)
        spectrum = torch.polar(x[:, :11].exp(), torch.sin(x[:, 11:]))
        return torch.istft(spectrum, 20, 5, 20, self.window, center=True)[0]

    def speak(self, phonemes, voice, speed=1.0):
        ids = [VOCAB[p] for p in phonemes]
        if not 0 < len(ids) <= MAX_PHONEMES:
            raise ValueError(f"teacher: {len(ids)} phonemes, want 1 to {MAX_PHONEMES}")
        style = self.styles[voice][len(ids) - 1][None]
        features, harmonics, durations, pitch = self.session.run([FEATURES, HARMONICS, DURATIONS, PITCH], {
            "tokens": np.array([[0, *ids, 0]], np.int64), "style": style, "speed": np.array([speed], np.float32)})
        audio = self.generate(torch.from_numpy(features), torch.from_numpy(harmonics), torch.from_numpy(style[0, :128]))
        return audio.numpy(), durations.reshape(-1).astype(np.int64), pitch.reshape(-1)


if __name__ == "__main__":
    import time

    import teacher

    line = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˌOvəɹ ðə lˈAzi dˈɔɡ, ænd ðˈɛn ɪt sˈæt dˈWn fɔɹ ə wˈIl."
    results = []
    for name, engine in (("onnx", teacher.Teacher(1)), ("torch", Teacher(1))):
        for _ in range(3):
            spent = time.process_time()
            audio, steps, pitch = engine.speak(line, "af_heart")
            spent = time.process_time() - spent
        results.append(audio)
        print(f"{name}: {len(audio) / 24000:.2f} s, {len(audio) / 24000 / spent:.2f}x real time of one core")
    # The two inverse transforms differ in the last few samples only.
    print("largest difference", np.abs(results[0] - results[1])[20:-20].max(), "peak", np.abs(results[0]).max())
