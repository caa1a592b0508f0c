package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxIndexBytes bounds an index, which has one short line for each tensor.
const maxIndexBytes = maxHeaderBytes

// openIndex opens the shards that an index names and checks that each holds exactly the tensors the index says.
func openIndex(fsys fs.FS, name string) (*Set, error) {
	weightMap, err := readIndex(fsys, name)
	if err != nil {
		return nil, err
	}
	s := newSet(name)
	return s.finish(s.addShards(fsys, weightMap))
}

func (s *Set) addShards(fsys fs.FS, weightMap map[string]string) error {
	dir := path.Dir(s.file)
	tensors := slices.Sorted(maps.Keys(weightMap)) // sorted, so that of several faults always the same is told
	shards := make(map[string]bool)
	for _, t := range tensors {
		shard := weightMap[t]
		if !plainShard(shard) {
			return &TensorError{s.file, t, "in shard", printable(shard), "the plain name of a .safetensors file beside the index"}
		}
		shards[shard] = true
	}
	for _, shard := range slices.Sorted(maps.Keys(shards)) {
		err := s.add(fsys, path.Join(dir, shard))
		if errors.Is(err, fs.ErrNotExist) {
			return &FileError{File: path.Join(dir, shard), Problem: "missing", Wanted: "the shard that " + printable(s.file) + " names", Err: fs.ErrNotExist}
		}
		if err != nil {
			return err
		}
	}
	for _, t := range tensors {
		shard := path.Join(dir, weightMap[t])
		held, ok := s.tensors[t]
		if !ok {
			return &TensorError{shard, t, "missing", "", "it in this shard, as " + printable(s.file) + " says"}
		}
		if held.File != shard {
			return &TensorError{s.file, t, "held by shard", held.File, shard}
		}
	}
	for _, t := range slices.Sorted(maps.Keys(s.tensors)) {
		if _, ok := weightMap[t]; !ok {
			return &TensorError{s.file, t, "not named in the index but held by", s.tensors[t].File, "weight_map to name every tensor"}
		}
	}
	return nil
}

// plainShard tells whether a shard's name stays in the directory of the index on every system.
func plainShard(name string) bool {
	return strings.HasSuffix(name, ".safetensors") && fs.ValidPath(name) && !strings.ContainsAny(name, `/\:`+"\x00")
}

// readIndex returns the weight_map of an index: tensor name to shard name.
func readIndex(fsys fs.FS, name string) (map[string]string, error) {
	m, err := openFile(fsys, name)
	if err != nil {
		return nil, err
	}
	defer m.close()
	if len(m.data) > maxIndexBytes {
		return nil, fileErr(name, "index of", bytesOf(len(m.data)), fmt.Sprintf("at most %d", maxIndexBytes))
	}
	const wanted = `a JSON object with "weight_map"`
	if bytes.HasPrefix(m.data, []byte(lfsPrefix)) {
		return nil, fileErr(name, "is a", "Git LFS pointer of "+bytesOf(len(m.data)), "the file it points to (git lfs pull)")
	}
	if !utf8.Valid(m.data) {
		return nil, fileErr(name, "index", "with invalid UTF-8", wanted)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(m.data), []byte("{")) {
		return nil, fileErr(name, "index is not a JSON object", "", wanted)
	}
	var top struct {
		WeightMap *uniqueMap `json:"weight_map"`
	}
	if err := json.Unmarshal(m.data, &top); err != nil {
		return nil, &FileError{File: name, Problem: "index cannot be used", Wanted: wanted, Err: err}
	}
	if top.WeightMap == nil {
		return nil, fileErr(name, "no weight_map in the index", "", wanted)
	}
	return *top.WeightMap, nil
}

// uniqueMap is a JSON object of strings that refuses a key that comes twice, where encoding/json would keep the last.
type uniqueMap map[string]string

func (u *uniqueMap) UnmarshalJSON(data []byte) error {
	if *u != nil {
		return errors.New("weight_map comes twice")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	if tok != json.Delim('{') {
		return errors.New("weight_map is not an object")
	}
	*u = make(map[string]string)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		value, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		shard, ok := value.(string)
		if !ok {
			return fmt.Errorf("weight_map: %s is not a string", printable(name))
		}
		if _, ok := (*u)[name]; ok {
			return fmt.Errorf("weight_map: %s comes twice", printable(name))
		}
		(*u)[name] = shard
	}
	if _, err := dec.Token(); err != nil && err != io.EOF {
		return err
	}
	return nil
}
