package tokenizer

// Limits on tokenizer files. They are several times what the largest published
// file needs (151,936 ids, 7 MiB of tokenizer.json) and keep a broken or hostile
// file from sizing our memory.
const (
	maxFileBytes  = 64 << 20 // bytes of one file
	maxTokens     = 1 << 20  // ids are below this; so is the number of merges
	maxTokenBytes = 4096     // bytes of one token as written in the file
	maxJSONDepth  = 64       // arrays and objects within one another
	bytesPerToken = 18       // of vocab.json, about; a guess at the size of tables
)

// Sizes of what a Tokenizer keeps between calls.
const (
	cacheSlots       = 1 << 12 // words whose ids are remembered
	maxCachedBytes   = 48      // longer words are rare and not remembered
	maxPooledSymbols = 1 << 14 // merge scratch for longer words is given back to the runtime
)
