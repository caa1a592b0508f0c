"""Stage 8: the published checkpoint layout, bfloat16, from the trained talker and decoder.

    python export.py [OUT] [--weights average|model]       # default WORK/export
    python export.py --check DIR                           # the reference implementation must give the same greedy codes and sound
    python export.py --golden DIR OUT                      # what the reference says with it, greedy: OUT.json and OUT.safetensors

OUT/{config.json,generation_config.json,model.safetensors,vocab.json,merges.txt,tokenizer_config.json,preprocessor_config.json} and
OUT/speech_tokenizer/{config.json,model.safetensors,preprocessor_config.json}. The encoder slot of the codec holds a minimal stub: a voice with
preset speakers never encodes.

Large matrices and convolutions (compact.wanted) are rounded to eight bits a row first (compact.grid), so that what is exported is the voice
exactly and its compact form loses nothing.
"""
import argparse
import json
import os
import shutil

import torch
from safetensors.torch import load_file, save_file

import codec_model
import compact
import paths
import talker_model
import tokenizer

# Defaults of the checkpoint; chosen by the judge. The last four are keys of Mynah's: sentences are spoken by themselves, and clauses of long ones; and what brings
# the codec to the teacher's level and takes the click off its beginning (LOG.md, session 11).
GENERATION = dict(do_sample=True, repetition_penalty=1.0, temperature=0.1, top_p=1.0, top_k=30, subtalker_dosample=True, subtalker_temperature=0.05, subtalker_top_p=1.0, subtalker_top_k=30, max_new_tokens=1024,
                  segment_characters=1, clause_characters=50, gain_db=4.5, fade_in_ms=1.0)
STUB = dict(sampling_rate=24000, frame_rate=12.5, hidden_size=32, num_filters=4, num_residual_layers=1, upsampling_ratios=[8, 6, 5, 4], codebook_size=256, codebook_dim=16,
            vector_quantization_hidden_dimension=16, num_quantizers=16, num_semantic_quantizers=1, upsample_groups=32, num_hidden_layers=1, intermediate_size=32, num_attention_heads=1,
            num_key_value_heads=1, head_dim=32, sliding_window=250, use_causal_conv=True, use_cache=False)


def write(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=2)
        f.write("\n")


def half(weights):
    """bfloat16, and on the 8-bit grid where compact.wanted says so."""
    def one(name, v):
        if not v.is_floating_point():
            return v
        return (torch.from_numpy(compact.grid(v.float().numpy())) if compact.wanted(name, v.shape) else v).to(torch.bfloat16)

    return {k: one(k, v).contiguous().clone() for k, v in weights.items()}


def export(out, which):
    from qwen_tts.core.tokenizer_12hz.configuration_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Config
    from qwen_tts.core.tokenizer_12hz.modeling_qwen3_tts_tokenizer_v2 import Qwen3TTSTokenizerV2Model

    codec_out = os.path.join(out, "speech_tokenizer")
    os.makedirs(codec_out, exist_ok=True)
    talker = torch.load(paths.file("talker", "talker.pt"), weights_only=False, map_location="cpu")
    weights, config = dict(talker[which]), dict(talker["config"], spk_id=dict(talker_model.SPEAKERS), spk_is_dialect={s: False for s in talker_model.SPEAKERS})
    # Ids that nothing uses are zero rows: they pack to nothing.
    used = torch.zeros(talker_model.VOCAB, 1)
    used[[*range(talker_model.ENTRIES), *talker_model.IDS.values(), *talker_model.SPEAKERS.values()]] = 1
    for name in ("model.codec_embedding.weight", "codec_head.weight"):
        weights[name] = weights[name] * used
    save_file(half({"talker." + k: v for k, v in weights.items()}), os.path.join(out, "model.safetensors"), metadata={"format": "pt"})
    _, special = tokenizer.load()
    with open(paths.file("tokenizer", "vocab.json"), encoding="utf-8") as f:
        assistant = json.load(f)["assistant"]
    layers = config["code_predictor_config"]["num_hidden_layers"]
    # The class of the predictor's configuration wants its layer types and model type spelled out.
    predictor = dict(config["code_predictor_config"], model_type="qwen3_tts_talker_code_predictor", layer_types=["full_attention"] * layers, max_window_layers=28, initializer_range=0.02, use_cache=True)
    write(os.path.join(out, "config.json"), dict(
        architectures=["Qwen3TTSForConditionalGeneration"], model_type="qwen3_tts", dtype="bfloat16", transformers_version="4.57.3", tokenizer_type="qwen3_tts_tokenizer_12hz",
        tts_model_size="tiny", tts_model_type="custom_voice", assistant_token_id=assistant, im_start_token_id=special["<|im_start|>"], im_end_token_id=special["<|im_end|>"],
        tts_pad_token_id=special["<tts_pad>"], tts_bos_token_id=special["<tts_text_bos>"], tts_eos_token_id=special["<tts_text_eod>"],
        talker_config=dict(config, model_type="qwen3_tts_talker", code_predictor_config=predictor)))
    write(os.path.join(out, "generation_config.json"), GENERATION)
    write(os.path.join(out, "preprocessor_config.json"), dict(padding_side="left", padding_value=0.0, processor_class="Qwen3TTSProcessor", return_attention_mask=True))
    for name in ("vocab.json", "merges.txt", "tokenizer_config.json"):
        shutil.copy(paths.file("tokenizer", name), out)

    saved = torch.load(paths.file("codec", "decoder.pt"), weights_only=True, map_location="cpu")
    decoder_config = {k: list(v) if isinstance(v, tuple) else v for k, v in saved["config"].items()}
    full = Qwen3TTSTokenizerV2Config(encoder_config=STUB, decoder_config=decoder_config, encoder_valid_num_quantizers=16, architectures=["Qwen3TTSTokenizerV2Model"])
    torch.manual_seed(0)
    codec = Qwen3TTSTokenizerV2Model(full)
    codec.decoder.load_state_dict(saved["average"], strict=True)
    for name, v in codec.state_dict().items():
        if v.is_floating_point() and not name.startswith("decoder."):
            v.zero_()        # the stub: zeros pack to nothing
    save_file(half(codec.state_dict()), os.path.join(codec_out, "model.safetensors"), metadata={"format": "pt"})
    full.dtype = torch.bfloat16
    full.save_pretrained(codec_out)
    write(os.path.join(codec_out, "preprocessor_config.json"), dict(feature_extractor_type="EncodecFeatureExtractor", feature_size=1, padding_side="right", padding_value=0.0,
                                                                     return_attention_mask=True, sampling_rate=24000, chunk_length_s=None, overlap=None))
    total = 0
    for root, _, files in os.walk(out):
        for name in files:
            size = os.path.getsize(os.path.join(root, name))
            total += size
            print(f"{size:10d} {os.path.relpath(os.path.join(root, name), out)}")
    print(f"{total:10d} bytes; talker step {talker['step']}, codec step {saved['step']}")


class Reference:
    """The unmodified reference implementation in float32, greedy, on an exported directory."""

    def __init__(self, folder):
        from qwen_tts import Qwen3TTSModel
        from transformers import Qwen2TokenizerFast

        self.model = Qwen3TTSModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa", device_map="cpu")
        self.model.processor.tokenizer = Qwen2TokenizerFast.from_pretrained(folder)
        self.speakers = list(self.model.model.config.talker_config.spk_id)
        self.codes, codec = None, self.model.model.speech_tokenizer
        original = codec.decode

        def decode(codes, *args, **named):
            self.codes = codes[0]["audio_codes"] if isinstance(codes, list) else codes["audio_codes"][0]
            return original(codes, *args, **named)

        codec.decode = decode

    def say(self, text, speaker, streaming):
        """Codes [frames, 16] and samples."""
        waves, _ = self.model.generate_custom_voice(text=text, speaker=speaker, language="English", non_streaming_mode=not streaming, do_sample=False, subtalker_dosample=False,
                                                    repetition_penalty=1.0, max_new_tokens=120)
        return self.codes, torch.from_numpy(waves[0]).float()


@torch.inference_mode()
def check(folder, texts=("Hello, how are you today?", "The train leaves at 7:30 p.m. on March 3rd.", "Yes.")):
    """The reference against our twin loaded from the same files."""
    reference = Reference(folder)
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        config = json.load(f)["talker_config"]
    twin = talker_model.Talker(config).eval()
    twin.load_state_dict({k.removeprefix("talker."): v.float() for k, v in load_file(os.path.join(folder, "model.safetensors")).items()})
    weights = {k.removeprefix("decoder."): v.float() for k, v in load_file(os.path.join(folder, "speech_tokenizer", "model.safetensors")).items() if k.startswith("decoder.")}
    with open(os.path.join(folder, "speech_tokenizer", "config.json"), encoding="utf-8") as f:
        kept = {k: v for k, v in json.load(f)["decoder_config"].items() if k in codec_model.CONFIG}
    decoder = codec_model.Decoder(**kept).eval()
    decoder.load_state_dict(weights)
    plain, special = tokenizer.load()
    good = True
    for text in texts:
        for speaker in reference.speakers:
            for streaming in (False, True):
                theirs, wave = reference.say(text, speaker, streaming)
                ours, _ = talker_model.generate(twin, plain, special, [text], speaker, streaming, temperature=0, sub_temperature=0, penalty=1.0, max_frames=119)
                same = theirs.shape == ours[0].shape and bool((theirs == ours[0]).all())
                gap = abs(wave - decoder(ours[0].t()[None])[0]).max() if same else float("nan")
                good &= same
                print(f"{speaker} {'streaming' if streaming else 'whole text'}: {len(theirs)} frames, codes {'equal' if same else 'DIFFER'}, largest sample difference {float(gap):.2e} | {text}")
    print("reference check", "passed" if good else "FAILED")
    return good


GOLDEN = ("Hello there, how are you today?", "The boats came back to the harbour before the rain.", "Please leave your umbrella by the door and sit down.")


@torch.inference_mode()
def golden(folder, out):
    """What the reference says: each text in both layouts, the speakers in turn."""
    reference = Reference(folder)
    cases, tensors = [], {}
    for i, text in enumerate(GOLDEN):
        for streaming in (False, True):
            name, speaker = f"{i}_{'' if streaming else 'non_'}streaming", reference.speakers[(i + streaming) % len(reference.speakers)]
            codes, wave = reference.say(text, speaker, streaming)
            tensors[name + "/codes"], tensors[name + "/waveform"] = codes.to(torch.int32).contiguous(), wave.contiguous()
            cases.append(dict(name=name, text=text, language="English", speaker=speaker, non_streaming_mode=not streaming, frames=len(codes), samples=len(wave)))
            print(f"{name}: {speaker}, {len(codes)} frames")
    save_file(tensors, out + ".safetensors")
    write(out + ".json", dict(note="greedy, float32, whole decode; compare codes exactly, waveform within 1e-4", cases=cases))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", nargs="?", default=paths.file("export"))
    parser.add_argument("golden_out", nargs="?")
    parser.add_argument("--weights", default="average", choices=("average", "model"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--golden", action="store_true")
    args = parser.parse_args()
    if args.check:
        raise SystemExit(not check(args.out))
    elif args.golden:
        golden(args.out, args.golden_out)
    else:
        export(args.out, args.weights)
