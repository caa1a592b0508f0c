package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/mynah-tts/mynah/internal/batch"
	"github.com/mynah-tts/mynah/internal/osfile"
)

// fetch writes the files of a result. What is wrong with them is a voidError, what is wrong
// with the disk or the server ends the job.
func (q *Queue) fetch(ctx context.Context, o *batch.Order, r *resultMessage, to batch.Files) error {
	if err := q.file(ctx, r.Audio, to.Audio); err != nil {
		return err
	}
	if o.Part {
		return q.file(ctx, r.Part, to.Part)
	}
	return nil
}

// half ends the name of a file that is being fetched.
const half = ".half"

// file fetches one file. It has its name when it is on the disk in full: a chapter's part
// under its name is taken for whole at the next run. What a killed run leaves is written
// over, or removed with the parts that are not wanted.
func (q *Queue) file(ctx context.Context, from object, path string) error {
	err := q.link.persistFor(ctx, transferTime(from.Bytes), func(ctx context.Context) error { return q.copy(ctx, from, path+half) })
	if err == nil {
		if err = q.brief.Disk.Rename(path+half, path); err != nil {
			err = batch.JobError(fmt.Errorf("%s: %w", path, osfile.Cause(err)))
		}
	}
	if err != nil {
		_ = os.Remove(path + half) // the first error is the one to tell
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrObjectNotFound), errors.Is(err, jetstream.ErrMsgNotFound):
		return &voidError{fmt.Errorf("its file is not on the server any more, or not as it was: %w", err)}
	}
	var void *voidError
	if errors.As(err, &void) || batch.EndsJob(err) {
		return err
	}
	return batch.JobError(err)
}

// copy fetches a file in one go.
func (q *Queue) copy(ctx context.Context, from object, path string) (err error) {
	f, err := q.brief.Disk.Open(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return batch.JobError(fmt.Errorf("%s: %w", path, osfile.Cause(err)))
	}
	defer func() {
		if e := f.Close(); err == nil && e != nil {
			err = batch.JobError(fmt.Errorf("%s: %w", path, osfile.Cause(e)))
		}
	}()
	h := sha256.New()
	n, err := q.link.chunks(ctx, from.Name, io.MultiWriter(h, writer{f, path}))
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); n != from.Bytes || sum != from.SHA256 {
		return &voidError{fmt.Errorf("its file has %d bytes and digest %.12s, its record says %d and %.12s", n, sum, from.Bytes, from.SHA256)}
	}
	if err := f.Sync(); err != nil {
		return batch.JobError(fmt.Errorf("%s: %w", path, osfile.Cause(err)))
	}
	return nil
}

// writer marks errors of the disk, so that they are told from the server's.
type writer struct {
	file batch.File
	path string
}

func (w writer) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	if err != nil {
		err = batch.JobError(fmt.Errorf("%s: %w", w.path, osfile.Cause(err)))
	}
	return n, err
}
