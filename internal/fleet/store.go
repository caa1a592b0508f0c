package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bytes of what is kept on a server; all of them are halved until they fit into the room
// that it has.
const (
	audioBytes  = 16 << 30
	streamBytes = 1 << 30 // of each of the two streams
	leastBytes  = 8 << 20 // of anything
)

// Codes of errors of JetStream that the client has no name for.
const (
	insufficientStorage  = 10047
	accountLimitExceeded = 10002
)

// isFullServer reports whether a server has no room for as much as it was asked to keep.
func isFullServer(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == insufficientStorage || api.ErrorCode == accountLimitExceeded)
}

// prepare makes what is not there of bucket and streams. What is there is taken as it is:
// an operator may have chosen other limits, or copies on several servers. What was made in
// vain is removed again: it would keep its room.
func (l *Link) prepare(ctx context.Context) error {
	for share := int64(1); ; share *= 2 {
		made, err := l.prepareShare(ctx, share)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
			return fmt.Errorf("NATS server %s: it has no JetStream (a server that is started with -js has)", l.where)
		}
		for _, stream := range made {
			_ = l.persist(ctx, func(ctx context.Context) error { return l.js.DeleteStream(ctx, stream) }) // the first error is the one to tell
		}
		if !isFullServer(err) {
			return fmt.Errorf("NATS server %s: %w", l.where, err)
		}
		if audioBytes/share <= leastBytes {
			return fmt.Errorf("NATS server %s: its JetStream has no room for %d MiB of files and orders: %w", l.where, 3*leastBytes>>20, err)
		}
	}
}

// prepareShare makes what is not there, each with its share of the bytes. It returns the
// names of the streams that it has made.
func (l *Link) prepareShare(ctx context.Context, share int64) (made []string, err error) {
	isNew := false
	make := func(what, stream string, create func(ctx context.Context) error) error {
		isNew = false
		if err := l.persist(ctx, create); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if isNew {
			made = append(made, stream)
		}
		return nil
	}
	err = make("bucket "+bucket, "OBJ_"+bucket, func(ctx context.Context) (err error) {
		// It is looked for first: a server without room says so of what is there, too.
		if l.objects, err = l.js.ObjectStore(ctx, bucket); errors.Is(err, jetstream.ErrBucketNotFound) {
			l.objects, err = l.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
				Bucket: bucket, Description: "Mynah: files of items", TTL: keepFor, MaxBytes: max(leastBytes, audioBytes/share), Storage: jetstream.FileStorage,
			})
			isNew = err == nil
		}
		if errors.Is(err, jetstream.ErrBucketExists) { // in between
			l.objects, err = l.js.ObjectStore(ctx, bucket)
		}
		if err == nil {
			l.audio, err = l.js.Stream(ctx, "OBJ_"+bucket)
		}
		return err
	})
	for _, c := range []struct {
		jetstream.StreamConfig
		to *jetstream.Stream
	}{
		{jetstream.StreamConfig{
			Name: workStream, Subjects: []string{workSubject + ".*.*.*"}, Retention: jetstream.WorkQueuePolicy, Description: "Mynah: items to be spoken",
		}, &l.work},
		{jetstream.StreamConfig{
			Name: doneStream, Subjects: []string{doneSubject + ".*.*", begunSubject + ".*.*"}, Retention: jetstream.LimitsPolicy,
			Description: "Mynah: what was begun, and what came of it",
		}, &l.done},
	} {
		if err != nil {
			return made, err
		}
		c.Storage, c.MaxAge, c.Discard, c.Duplicates = jetstream.FileStorage, keepFor, jetstream.DiscardNew, duplicateWindow
		c.MaxBytes = max(leastBytes, streamBytes/share)
		err = make("stream "+c.Name, c.Name, func(ctx context.Context) (err error) {
			if *c.to, err = l.js.Stream(ctx, c.Name); errors.Is(err, jetstream.ErrStreamNotFound) {
				*c.to, err = l.js.CreateStream(ctx, c.StreamConfig)
				isNew = err == nil
			}
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				*c.to, err = l.js.Stream(ctx, c.Name)
			}
			return err
		})
	}
	return made, err
}
