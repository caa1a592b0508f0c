package packed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/internal/osfile"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// Beginnings of tensors' names. The codec's is its folder in the checkpoint.
const (
	filesFolder = "file/"  // small files, as U8 tensors
	mainFolder  = "model/" // weights of the checkpoint's top folder
	codecFolder = "speech_tokenizer/"
)

// smallFiles are the files beside the weights that a model is made of.
var smallFiles = []string{
	"config.json", "generation_config.json",
	"vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json",
	"speech_tokenizer/config.json",
}

// weightFolders are where a checkpoint has weights.
var weightFolders = []string{".", "speech_tokenizer"}

// maxSmallFile bounds each of the small files.
const maxSmallFile = 64 << 20 // bytes

// WeightsName is a tensor's name in a packed file, by its folder in the checkpoint.
func WeightsName(folder, name string) string {
	if folder == "." {
		return mainFolder + name
	}
	return folder + "/" + name
}

var errForeign = errors.New("is no packed file: its metadata does not say so; wanted a file that mynah quantize wrote")

// File is an open packed file.
type File struct {
	Header
	set *safetensors.Set
}

// Open maps a packed file (on Windows it reads it) and verifies it. packing is the version of the packing that
// the program does itself.
func Open(name string, packing int) (*File, error) {
	set, err := safetensors.Open(os.DirFS(filepath.Dir(name)), filepath.Base(name))
	if err != nil {
		return nil, fmt.Errorf("is no packed file, or is damaged: %w", err)
	}
	f := &File{set: set}
	if err := f.check(packing); err != nil {
		_ = set.Close() // what is wrong with the file is the news
		return nil, err
	}
	return f, nil
}

func (f *File) check(packing int) error {
	meta := f.set.Metadata()
	version, ok := meta[keyFormat]
	if !ok {
		return errForeign
	}
	if want := fmt.Sprint(FormatVersion); version != want {
		return fmt.Errorf("has version %.20q of the packed format, this Mynah reads %s: write it again with mynah quantize", version, want)
	}
	if err := f.parse(meta); err != nil {
		return err
	}
	if f.Packing != packing {
		return fmt.Errorf("was packed by version %d of the packing, this Mynah has %d: write it again with mynah quantize", f.Packing, packing)
	}
	return f.compare(meta, keyChecksum, covers)
}

// compare computes the checksum of a key and compares it with what the file says.
func (f *File) compare(meta map[string]string, key string, covers func(name string) bool) error {
	var covered []safetensors.Tensor
	for _, name := range f.set.Names() {
		covered = append(covered, safetensors.Tensor{Name: name, Data: safetensors.Bytes(f.set.Raw(name))})
	}
	sum, err := checksum(meta, key, covered, covers)
	if err != nil {
		return err
	}
	if meta[key] != sum {
		return fmt.Errorf("is damaged: its checksum is %s, wanted %.20q", sum, meta[key])
	}
	return nil
}

// Verify reads the tensors that Open leaves out and compares them with their checksum. It takes as long as reading the
// file does. It stops with the context.
func (f *File) Verify(ctx context.Context) error {
	err := f.compare(f.set.Metadata(), keyRest, func(name string) bool { return ctx.Err() == nil && !covers(name) })
	if ctx.Err() != nil {
		return ctx.Err() // and not what was found without the tensors that were left out
	}
	return err
}

// Weights returns the tensors of a folder of the checkpoint, "." or
// "speech_tokenizer". They die with the file's Close.
func (f *File) Weights(folder string) *safetensors.Set {
	return f.set.Under(WeightsName(folder, ""))
}

// Bytes returns the size of all tensors.
func (f *File) Bytes() int64 { return f.set.Bytes() }

// Close unmaps the file.
func (f *File) Close() error { return f.set.Close() }

// FS returns the small files.
func (f *File) FS() fs.FS { return smallFS{f.set.Under(filesFolder)} }

// covers reports whether a tensor is verified at opening: what only a packed file has,
// and the codec, all of which is read anyway. The rest is embeddings, most rows of
// which are never read, and norms.
func covers(name string) bool {
	return strings.HasPrefix(name, filesFolder) || strings.HasPrefix(name, codecFolder) ||
		strings.Contains(name, ".int4.") || strings.Contains(name, ".int8.")
}

// checksum is what belongs under a key: it is over the covered tensors, by name, and for
// keyChecksum over the rest of the metadata before them.
func checksum(meta map[string]string, key string, tensors []safetensors.Tensor, covers func(name string) bool) (string, error) {
	crc := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		if key == keyChecksum && k != key {
			fmt.Fprintf(crc, "%q=%q\n", k, meta[k])
		}
	}
	sorted := slices.Clone(tensors)
	slices.SortFunc(sorted, func(a, b safetensors.Tensor) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range sorted {
		if !covers(t.Name) || t.Data == nil {
			continue
		}
		fmt.Fprintf(crc, "%q\n", t.Name)
		if err := t.Data(crc); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("crc32c:%08x", crc.Sum32()), nil
}

// Write writes a packed file: aside first, then renamed, so that there is never half a
// file of this name. files are the small files of a WholeModel. check, unless it is nil, is
// given the name of the file that was written aside: if it fails, what stood under the name
// stays. It stops with the context.
func Write(ctx context.Context, name string, h Header, files fs.FS, tensors []safetensors.Tensor, check func(aside string) error) error {
	tensors = slices.Clone(tensors)
	if files != nil {
		small, err := embed(files)
		if err != nil {
			return err
		}
		tensors = append(tensors, small...)
	}
	meta := h.metadata()
	for _, c := range []struct {
		key    string
		covers func(name string) bool
	}{{keyRest, func(name string) bool { return !covers(name) }}, {keyChecksum, covers}} {
		sum, err := checksum(meta, c.key, tensors, c.covers)
		if err != nil {
			return err
		}
		meta[c.key] = sum
	}
	return replaceFile(name, func(f *os.File) error {
		if err := safetensors.Write(&stoppable{ctx, f}, tensors, meta); err != nil || check == nil {
			return err
		}
		return check(f.Name())
	})
}

// stoppable is a writer that fails once its context has ended. It writes in pieces.
type stoppable struct {
	ctx context.Context
	w   io.Writer
}

func (s *stoppable) Write(p []byte) (n int, err error) {
	const piece = 8 << 20
	for n < len(p) {
		if err := s.ctx.Err(); err != nil {
			return n, err
		}
		done, err := s.w.Write(p[n:min(n+piece, len(p))])
		n += done
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// embed reads the small files that there are.
func embed(fsys fs.FS) ([]safetensors.Tensor, error) {
	var tensors []safetensors.Tensor
	for _, name := range smallFiles {
		data, err := readSmall(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		tensors = append(tensors, safetensors.Tensor{Name: filesFolder + name, DType: safetensors.U8, Shape: []int{len(data)}, Data: safetensors.Bytes(data)})
	}
	return tensors, nil
}

func readSmall(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSmallFile+1))
	if err == nil && len(data) > maxSmallFile {
		err = fmt.Errorf("%s: over %d bytes", name, maxSmallFile)
	}
	return data, err
}

// replaceFile writes a file aside and gives it its name once it is on the disk.
func replaceFile(name string, write func(*os.File) error) error {
	f, err := osfile.CreatePending(name)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := write(f.File); err != nil {
		return err
	}
	return f.Commit()
}

// smallFS is a file system of tensors of bytes. It has files only, no directories.
type smallFS struct{ set *safetensors.Set }

// Open opens the file that is the tensor of this name.
func (s smallFS) Open(name string) (fs.File, error) {
	info, ok := s.set.Info(name)
	if !ok || info.DType != safetensors.U8 || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	data := s.set.Raw(name)
	return &smallFile{bytes.NewReader(data), smallInfo{path.Base(name), int64(len(data))}}, nil
}

type smallFile struct {
	*bytes.Reader
	info smallInfo
}

func (f *smallFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *smallFile) Close() error               { return nil }

type smallInfo struct {
	name string
	size int64
}

func (i smallInfo) Name() string       { return i.name }
func (i smallInfo) Size() int64        { return i.size }
func (i smallInfo) Mode() fs.FileMode  { return 0o444 }
func (i smallInfo) ModTime() time.Time { return time.Time{} }
func (i smallInfo) IsDir() bool        { return false }
func (i smallInfo) Sys() any           { return nil }

// Is reports whether there is a packed file of this name, of any version. It reads the
// header alone.
func Is(name string) bool {
	meta, err := safetensors.ReadMetadata(os.DirFS(filepath.Dir(name)), filepath.Base(name))
	_, ok := meta[keyFormat]
	return ok && err == nil
}
