package hub

import (
	"context"
	"crypto/sha1" // git's name of a blob
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
)

const (
	sha1Digits   = 40
	sha256Digits = 64
)

// newHash returns the hash that a digest is of: SHA-256, or git's of a blob, which begins
// with the size.
func newHash(digest string, size int64) hash.Hash {
	if len(digest) == sha256Digits {
		return sha256.New()
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

// verify compares a file with its size and digest. A difference is an *inconsistentError.
func verify(ctx context.Context, path string, size int64, digest string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != size {
		return &inconsistentError{fmt.Sprintf("has %d bytes, the listing says %d", info.Size(), size)}
	}
	h := newHash(digest, size)
	buffer := make([]byte, 1<<20)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := f.Read(buffer)
		h.Write(buffer[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != digest {
		name := "SHA-256"
		if len(digest) == sha1Digits {
			name = "SHA-1"
		}
		return &inconsistentError{fmt.Sprintf("its content has the %s %.12s…, the listing says %.12s…", name, got, digest)}
	}
	return nil
}

// inconsistentError says that what a server sends is not what it, or the listing, said
// before. The file is begun anew once.
type inconsistentError struct{ why string }

func (e *inconsistentError) Error() string { return e.why }
