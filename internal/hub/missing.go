package hub

import (
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Files of a tokenizer.
const (
	vocabFile     = "vocab.json"
	mergesFile    = "merges.txt"
	tokenizerFile = "tokenizer_config.json"
	bothFile      = "tokenizer.json" // stands for vocabulary and merges
)

// missing names a file that a commit's snapshot lacks, or returns "": one that no checkpoint
// runs without, or that was to be fetched. It looks at names alone: opening the model looks at
// the rest.
func (s *store) missing(commit string) string {
	dir := s.snapshot(commit)
	if name := missingFile(dir); name != "" {
		return name
	}
	for _, f := range s.remembered(commit) {
		// A file of --include is not for the next pull to bring, and no model needs it.
		if (Selection{}).takes(f.Path) && sizeOf(filepath.Join(dir, filepath.FromSlash(f.Path))) < 0 {
			return f.Path
		}
	}
	return ""
}

// missingFile looks for what opening a checkpoint's folder takes.
func missingFile(dir string) string {
	has := func(name string) bool { return sizeOf(filepath.Join(dir, filepath.FromSlash(name))) >= 0 }
	if name := missingSmall(has); name != "" {
		return name
	}
	for _, sub := range weightsDirs {
		if name := missingWeights(dir, sub, has); name != "" {
			return name
		}
	}
	return ""
}

// missingSmall looks for what it takes besides weights.
func missingSmall(has func(name string) bool) string {
	wanted := []string{configFile, vocabFile, mergesFile, tokenizerFile}
	if has(bothFile) && !(has(vocabFile) && has(mergesFile)) {
		wanted = wanted[:1]
	}
	for _, name := range append(wanted, path.Join(codecDir, configFile)) {
		if !has(name) {
			return name
		}
	}
	return ""
}

// weightsFile is the name of weights in one file, and begins that of an index of shards.
const (
	weightsFile = "model" + weightsEnd
	indexEnd    = ".index.json"
)

// weightsDirs are the folders that have weights.
var weightsDirs = []string{".", codecDir}

// missingIndex looks for the weights of all folders, by the names that opening goes by.
func missingIndex(has func(name string) bool) string {
	for _, sub := range weightsDirs {
		if whole := path.Join(sub, weightsFile); !has(whole) && !has(whole+indexEnd) {
			return whole
		}
	}
	return ""
}

// missingWeights looks for the weights of a folder: one file, or those of an index.
func missingWeights(dir, sub string, has func(string) bool) string {
	whole := path.Join(sub, weightsFile)
	if has(whole) {
		return ""
	}
	data, err := readBounded(filepath.Join(dir, filepath.FromSlash(whole+indexEnd)), maxIndex)
	if err != nil {
		return whole
	}
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if json.Unmarshal(data, &index) != nil {
		return "" // opening it says what is wrong
	}
	for _, shard := range slices.Sorted(maps.Values(index.Map)) {
		if name := path.Join(sub, shard); !strings.ContainsAny(shard, `/\`) && !has(name) {
			return name
		}
	}
	return ""
}
