// Package tokenizer turns text into the token ids of a checkpoint and back:
// the byte-level BPE of Qwen, read from vocab.json with merges.txt or from
// tokenizer.json.
//
// Text passes four stages. Added tokens such as <|im_start|> are cut out by
// exact match, longest first (Encode only; text of users goes through EncodeText,
// where they are plain characters). The rest is normalised to NFC, cut into words
// by Pattern, and each word's bytes are merged by rank, best rank first and
// leftmost first among equals.
//
// Text is taken as UTF-8. Every byte that does not belong to a well-formed
// character is read as U+FFFD, so no input fails and none panics; callers that
// want such text refused check it before.
//
// The tables of Unicode are those of x/text (NFC) and Go (classes). Another version
// of them treats characters that one of the two does not know yet differently; the
// reference's are older in places.
//
// A Stream does the same for text that arrives in pieces, cut anywhere: it
// returns an id as soon as nothing that follows can change it.
package tokenizer
