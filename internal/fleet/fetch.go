package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	return ofFetch(err)
}

// ofFetch tells what is wrong with a file from what ends the job.
func ofFetch(err error) error {
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

// complete fetches the record of a result that has it in a file.
func (q *Queue) complete(ctx context.Context, r *resultMessage) error {
	from := r.Aside
	if from.Name == "" {
		return nil
	}
	if from.Bytes > maxUnpacked {
		return &voidError{fmt.Errorf("its record has %d bytes, allowed are %d", from.Bytes, maxUnpacked)}
	}
	var data bytes.Buffer
	err := q.link.persistFor(ctx, transferTime(from.Bytes), func(ctx context.Context) error {
		data.Reset()
		return q.link.get(ctx, from, &data)
	})
	if err == nil {
		if e := json.Unmarshal(data.Bytes(), &r.Record); e != nil {
			err = &voidError{fmt.Errorf("its record of %d bytes: %w", from.Bytes, e)}
		}
	}
	return ofFetch(err)
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
	if err := q.link.get(ctx, from, writer{f, path}); err != nil {
		return err
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
