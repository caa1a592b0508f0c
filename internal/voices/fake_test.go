package voices

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mynah-tts/mynah/synth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// checkpoint is one that voices may belong to.
type checkpoint struct {
	name, digest string
	kind         synth.Kind
	speakers     []string
	noEncoders   bool
	values       int // of an x_vector, any if 0
}

func (c checkpoint) Info() synth.Info {
	return synth.Info{Name: c.name, Kind: c.kind, Speakers: c.speakers, Cloning: c.kind == synth.Base && !c.noEncoders}
}

func (c checkpoint) Digest() (string, error) { return c.digest, nil }

func (c checkpoint) CheckReference(ref *synth.Reference) error {
	if c.values != 0 && len(ref.XVector) != c.values {
		return &synth.RequestError{Param: "reference", Message: fmt.Sprintf("x_vector has %d values, this checkpoint's have %d", len(ref.XVector), c.values)}
	}
	return nil
}

var (
	ours   = checkpoint{name: "/secret/place/Base-A", digest: strings.Repeat("a1", 32), kind: synth.Base}
	theirs = checkpoint{name: "/secret/place/Base-B", digest: strings.Repeat("b2", 32), kind: synth.Base}
)

// profile is one that may be kept. Its first code tells which of several it is.
func profile(name string, mark int32) Profile {
	return Profile{
		Name: name, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Language: "german", Description: "A voice.", Consent: "given",
		Model: "Base-A", Digest: ours.digest, Seconds: 4.5,
		Reference: synth.Reference{XVector: []float32{float32(mark), 1e-7, -3.4028235e38, 0.1}, Codes: [][]int32{{mark, 2}, {3, 4}}, Text: "What it says."},
	}
}

func open(t testing.TB, max int) *Store {
	t.Helper()
	return Open(t.TempDir()+"/voices", max)
}

func add(t testing.TB, s *Store, p Profile, replace bool) Voice {
	t.Helper()
	v, err := s.Add(p, replace)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func names(t testing.TB, s *Store) string {
	t.Helper()
	all, problems, err := s.List()
	if err != nil || len(problems) > 0 {
		t.Fatalf("problems %q, error %v", problems, err)
	}
	var got []string
	for _, v := range all {
		got = append(got, v.Name)
	}
	return strings.Join(got, ", ")
}

// wantKind checks an error's kind and that it is one line with a text in it.
func wantKind(t testing.TB, err error, kind Kind, text string) {
	t.Helper()
	if !IsKind(err, kind) || !strings.Contains(err.Error(), text) || strings.ContainsAny(err.Error(), "\n\r\x1b") {
		t.Errorf("error %v, want one of kind %d with %q", err, kind, text)
	}
}

// faultyDisk fails at its nth operation, and at all after that but removing, as a disk
// does that is full.
type faultyDisk struct {
	osDisk
	left int
}

var errFull = error(syscall.ENOSPC)

func (d *faultyDisk) spend() error {
	if d.left--; d.left < 0 {
		return errFull
	}
	return nil
}

func (d *faultyDisk) create(path string) (file, error) {
	if err := d.spend(); err != nil {
		return nil, err
	}
	f, err := d.osDisk.create(path)
	return &faultyFile{f, d}, err
}

func (d *faultyDisk) rename(from, to string) error {
	return errors.Join(d.spend(), func() error {
		if d.left < 0 {
			return nil
		}
		return d.osDisk.rename(from, to)
	}())
}

type faultyFile struct {
	file
	disk *faultyDisk
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.disk.spend(); err != nil {
		n, _ := f.file.Write(p[:len(p)/2])
		return n, err
	}
	return f.file.Write(p)
}

func (f *faultyFile) Sync() error {
	if err := f.disk.spend(); err != nil {
		return err
	}
	return f.file.Sync()
}

func (f *faultyFile) Close() error {
	err := f.disk.spend()
	if e := f.file.Close(); err == nil {
		err = e
	}
	return err
}
