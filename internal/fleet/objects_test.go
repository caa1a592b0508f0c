package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/batch"
)

// tornDisk is full in the midst of files whose path has something in it.
type tornDisk struct {
	quickDisk
	part string
}

type tornFile struct{ batch.File }

func (f tornFile) Write(p []byte) (int, error) {
	n, _ := f.File.Write(p[:len(p)/2])
	return n, &os.PathError{Op: "write", Path: "x", Err: errors.New("no space left on device")}
}

func (d tornDisk) Open(path string, flag int) (batch.File, error) {
	f, err := d.quickDisk.Open(path, flag)
	if err == nil && strings.Contains(path, d.part) {
		f = tornFile{f}
	}
	return f, err
}

// The part of a chapter that was fetched by half is not taken for whole, and what a killed
// run leaves of one does not stay.
func TestHalfParts(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	employ(t, at(server.Addr()), &engine{}, nil)
	o := jobOptions(t)
	o.Format = audio.MP3
	const before, after = "# A\n\nOne. Two.\n\n# B\n\nThree.\n", "# A\n\nOne. Two.\n\n# B\n\nThree. Four.\n"
	want := local(t, read(t, batch.Markdown, after), o)
	run(t, read(t, batch.Markdown, before), o, queueFor(at(server.Addr()), nil))
	parts := filepath.Join(o.Dir, ".mynah-batch", "parts")
	if err := os.RemoveAll(parts); err != nil { // all chapters are to be made, and A's file is there
		t.Fatal(err)
	}
	digest := digestsOf(t, want)[0]
	torn := o
	torn.Disk = tornDisk{part: digest}
	if _, err := try(t.Context(), read(t, batch.Markdown, after), torn, queueFor(at(server.Addr()), nil)); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("with a full disk: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(parts, digest+"*")); len(left) > 0 {
		t.Errorf("a full disk leaves %q", left)
	}
	for _, name := range []string{digest, strings.Repeat("0", len(digest))} {
		if err := os.WriteFile(filepath.Join(parts, name+".flac"+half), []byte("fLaC"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if r := run(t, read(t, batch.Markdown, after), o, queueFor(at(server.Addr()), nil)); r.Joined == nil || r.Joined.Error != "" {
		t.Errorf("joined: %+v", r.Joined)
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, at(server.Addr()))
}

// A file has its name when it is there as its result says.
func TestFetchedFilesAreWhole(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	s := at(server.Addr())
	link, err := s.Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	data := []byte(strings.Repeat("samples", 100))
	if err := link.put(t.Context(), "there", bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	right := object{Name: "there", Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
	other, short, gone := right, right, right
	other.SHA256, short.Bytes, gone.Name = hex.EncodeToString(make([]byte, 32)), right.Bytes-1, "gone"
	for _, c := range []struct {
		name string
		from object
		disk batch.Disk
		void bool
		want string // of the error
	}{
		{"right", right, quickDisk{}, false, ""},
		{"other content", other, quickDisk{}, true, "its file has 700 bytes"},
		{"other size", short, quickDisk{}, true, "its record says 699"},
		{"gone", gone, quickDisk{}, true, "not on the server any more"},
		{"full disk", right, tornDisk{part: "part"}, false, "no space left on device"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "part")
		q := &Queue{link: link, brief: batch.Brief{Disk: c.disk}}
		err := q.file(t.Context(), c.from, path)
		var void *voidError
		if (err == nil) != (c.want == "") || errors.As(err, &void) != c.void || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		files := contents(t, dir)
		if c.want == "" && (len(files) != 1 || files["part"] != string(data)) || c.want != "" && len(files) > 0 {
			t.Errorf("%s: there are %.80q", c.name, files)
		}
	}
}
