package main

import "fmt"

// object is a JSON object of a config file.
type object = map[string]any

// Ids of the published checkpoints. The special codes follow the 2,048 codes of the codec, languages and speakers
// stand among them.
var (
	languages = object{"chinese": 2055, "english": 2050, "german": 2053, "italian": 2070, "portuguese": 2071,
		"spanish": 2054, "japanese": 2058, "korean": 2064, "french": 2061, "russian": 2069,
		"beijing_dialect": 2074, "sichuan_dialect": 2062}
	speakers = object{"serena": 3066, "vivian": 3065, "uncle_fu": 3010, "ryan": 3061, "aiden": 2861,
		"ono_anna": 2873, "sohee": 2864, "eric": 2875, "dylan": 2878}
	dialects = object{"serena": false, "vivian": false, "uncle_fu": false, "ryan": false, "aiden": false,
		"ono_anna": false, "sohee": false, "eric": "sichuan_dialect", "dylan": "beijing_dialect"}
)

// imStartID is the token that begins each turn of a prompt; a tokenizer without it does not fit these checkpoints.
const imStartID = 151644

// modelConfigOf returns config.json for a variant (0.6b or 1.7b) and kind (custom_voice, base or voice_design).
func modelConfigOf(variant, kind string) (object, error) {
	var hidden int // of the talker; the predictor has 1024 in both
	var size string
	switch variant {
	case "0.6b":
		hidden, size = 1024, "0b6"
	case "1.7b":
		hidden, size = 2048, "1b7"
	default:
		return nil, fmt.Errorf("variant %q, wanted 0.6b or 1.7b", variant)
	}
	cfg := object{
		"architectures": []string{"Qwen3TTSForConditionalGeneration"}, "model_type": "qwen3_tts",
		"assistant_token_id": 77091, "im_start_token_id": imStartID, "im_end_token_id": 151645,
		"tts_pad_token_id": 151671, "tts_bos_token_id": 151672, "tts_eos_token_id": 151673,
		"tokenizer_type": "qwen3_tts_tokenizer_12hz", "tts_model_size": size, "tts_model_type": kind,
		"transformers_version": "4.57.3",
	}
	talker := talkerConfig(hidden)
	switch kind {
	case "custom_voice":
		talker["spk_id"], talker["spk_is_dialect"] = speakers, dialects
	case "base":
		cfg["speaker_encoder_config"] = object{"enc_dim": hidden, "sample_rate": 24000}
	case "voice_design":
	default:
		return nil, fmt.Errorf("kind %q, wanted custom_voice, base or voice_design", kind)
	}
	cfg["talker_config"] = talker
	return cfg, nil
}

func talkerConfig(hidden int) object {
	return object{
		"hidden_size": hidden, "intermediate_size": 3 * hidden, "num_hidden_layers": 28,
		"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu",
		"attention_bias": false, "attention_dropout": 0, "initializer_range": 0.02,
		"max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1000000,
		"rope_scaling": object{"interleaved": true, "mrope_section": []int{24, 20, 20},
			"rope_type": "default", "type": "default"},
		"sliding_window": nil, "use_sliding_window": false, "use_cache": true,
		"model_type": "qwen3_tts_talker", "num_code_groups": 16, "vocab_size": 3072,
		"text_hidden_size": 2048, "text_vocab_size": 151936, "position_id_per_seconds": 13,
		"pad_token_id": 2148, "codec_pad_id": 2148, "codec_bos_id": 2149, "codec_eos_token_id": 2150,
		"codec_think_id": 2154, "codec_nothink_id": 2155, "codec_think_bos_id": 2156, "codec_think_eos_id": 2157,
		"codec_language_id": languages, "spk_id": object{}, "spk_is_dialect": object{},
		"code_predictor_config": object{
			"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 5,
			"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu",
			"attention_bias": false, "attention_dropout": 0, "initializer_range": 0.02,
			"layer_types":             []string{"full_attention", "full_attention", "full_attention", "full_attention", "full_attention"},
			"max_position_embeddings": 65536, "max_window_layers": 28,
			"model_type": "qwen3_tts_talker_code_predictor", "num_code_groups": 16,
			"rms_norm_eps": 1e-6, "rope_theta": 1000000, "rope_scaling": nil,
			"sliding_window": nil, "use_sliding_window": false, "use_cache": true,
			"tie_word_embeddings": false, "vocab_size": 2048,
		},
	}
}

// codecConfigOf returns speech_tokenizer/config.json, which is the same for all variants and kinds.
func codecConfigOf() object {
	return object{
		"architectures": []string{"Qwen3TTSTokenizerV2Model"}, "model_type": "qwen3_tts_tokenizer_12hz",
		"encoder_valid_num_quantizers": 16, "input_sample_rate": 24000, "output_sample_rate": 24000,
		"decode_upsample_rate": 1920, "encode_downsample_rate": 1920, "transformers_version": "4.57.3",
		"decoder_config": object{
			"attention_bias": false, "attention_dropout": 0.0, "latent_dim": 1024, "codebook_dim": 512,
			"codebook_size": 2048, "decoder_dim": 1536, "hidden_act": "silu", "hidden_size": 512,
			"intermediate_size": 1024, "layer_scale_initial_scale": 0.01, "max_position_embeddings": 8000,
			"head_dim": 64, "num_attention_heads": 16, "num_hidden_layers": 8, "num_key_value_heads": 16,
			"num_quantizers": 16, "num_semantic_quantizers": 1, "rms_norm_eps": 1e-5, "rope_theta": 10000,
			"semantic_codebook_size": 4096, "sliding_window": 72, "upsample_rates": []int{8, 5, 4, 3},
			"upsampling_ratios": []int{2, 2}, "vector_quantization_hidden_dimension": 512,
		},
		"encoder_config": object{
			"_frame_rate": 12.5, "attention_bias": false, "attention_dropout": 0.0, "audio_channels": 1,
			"codebook_dim": 256, "codebook_size": 2048, "compress": 2, "dilation_growth_rate": 2,
			"dtype": "float32", "head_dim": 64, "hidden_act": "gelu", "hidden_size": 512,
			"initializer_range": 0.02, "intermediate_size": 2048, "kernel_size": 7, "last_kernel_size": 3,
			"layer_scale_initial_scale": 0.01, "max_position_embeddings": 8000, "norm_eps": 1e-5,
			"normalize": false, "num_attention_heads": 8, "num_filters": 64, "num_hidden_layers": 8,
			"num_key_value_heads": 8, "num_quantizers": 32, "num_residual_layers": 1,
			"num_semantic_quantizers": 1, "pad_mode": "constant", "residual_kernel_size": 3,
			"rope_theta": 10000.0, "sampling_rate": 24000, "sliding_window": 250, "trim_right_ratio": 1.0,
			"upsample_groups": 512, "upsampling_ratios": []int{8, 6, 5, 4}, "use_cache": false,
			"use_causal_conv": true, "use_conv_shortcut": false, "use_streaming": false,
			"vector_quantization_hidden_dimension": 256,
		},
	}
}

// smallFiles returns the other JSON files of a checkpoint by their path.
func smallFiles() map[string]object {
	return map[string]object{
		"generation_config.json": {
			"do_sample": true, "repetition_penalty": 1.05, "temperature": 0.9, "top_k": 50, "top_p": 1.0,
			"subtalker_dosample": true, "subtalker_temperature": 0.9, "subtalker_top_k": 50, "subtalker_top_p": 1.0,
			"max_new_tokens": 8192,
		},
		"preprocessor_config.json": {
			"padding_side": "left", "padding_value": 0.0, "processor_class": "Qwen3TTSProcessor",
			"return_attention_mask": true,
		},
		"speech_tokenizer/preprocessor_config.json": {
			"feature_extractor_type": "EncodecFeatureExtractor", "chunk_length_s": nil, "feature_size": 1,
			"overlap": nil, "padding_side": "right", "padding_value": 0.0, "return_attention_mask": true,
			"sampling_rate": 24000,
		},
	}
}
