package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	storeFailed          = 10077
)

// isFullStream reports whether a stream has as much as it may keep.
func isFullStream(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == storeFailed && strings.Contains(api.Description, "maximum bytes")
}

// isFullServer reports whether a server has no room for as much as it was asked to keep.
func isFullServer(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == insufficientStorage || api.ErrorCode == accountLimitExceeded)
}

// prepare makes what is not there of bucket and streams, and gives what was made the room
// that the server has. What is there is taken as it is: an operator may have chosen other
// limits, or copies on several servers.
//
// Others may do the same at the same time. Hence everything is made as small as it may be
// and then enlarged: a size that is refused changes nothing, where a stream that is made too
// large for the others to fit in would have to be removed under whoever has found it.
func (l *Link) prepare(ctx context.Context) error {
	made, err := l.make(ctx)
	switch {
	case err == nil:
		err = l.enlarge(ctx)
	case isFullServer(err): // what was made in vain would keep its room
		for _, stream := range made {
			_ = l.persist(ctx, func(ctx context.Context) error { return l.js.DeleteStream(ctx, stream) }) // the first error is the one to tell
		}
		return fmt.Errorf("NATS server %s: its JetStream has no room for %d MiB of files and orders: %w", l.where, 3*leastBytes>>20, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("NATS server %s: it has no JetStream (a server that is started with -js has)", l.where)
	}
	if err != nil {
		return fmt.Errorf("NATS server %s: %w", l.where, err)
	}
	return nil
}

// healTime is how long it takes until what is missing is made again: of a stream that is made
// while the server still removes the folder of its predecessor nothing works.
const healTime = time.Second

// missing reports whether an error may come from a stream, the bucket or a consumer that is
// not there: that somebody removed, or that the server lost with its disk.
func missing(err error) bool {
	for _, each := range []error{jetstream.ErrStreamNotFound, jetstream.ErrBucketNotFound, jetstream.ErrNoStreamResponse, nats.ErrNoResponders} {
		if errors.Is(err, each) {
			return true
		}
	}
	return false
}

// heal makes streams and bucket again as far as they are missing. Those that the link knows
// stand for the new ones, too: they are names. If another is at it, whoever asked asks again.
func (l *Link) heal(ctx context.Context) error {
	if !l.healing.TryLock() {
		return nil
	}
	defer l.healing.Unlock()
	rest(ctx, healTime)
	return l.once(ctx, mostCallTime, func(ctx context.Context) error {
		return (&Link{where: l.where, patience: l.patience, conn: l.conn, js: l.js, again: make(chan struct{})}).prepare(ctx)
	})
}

// ours begins the description of what was made here, and not by an operator.
const ours = "Mynah: "

// make makes what is not there, of leastBytes each, and returns the names of the streams
// that it has made. It looks for each first: a server without room says so of what is there,
// too.
func (l *Link) make(ctx context.Context) (made []string, err error) {
	err = l.persist(ctx, func(ctx context.Context) (err error) {
		if l.objects, err = l.js.ObjectStore(ctx, bucket); errors.Is(err, jetstream.ErrBucketNotFound) {
			l.objects, err = l.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
				Bucket: bucket, Description: ours + "files of items", TTL: keepFor, MaxBytes: leastBytes, Storage: jetstream.FileStorage,
			})
			if err == nil {
				made = append(made, "OBJ_"+bucket)
			}
		}
		if errors.Is(err, jetstream.ErrBucketExists) { // in between
			l.objects, err = l.js.ObjectStore(ctx, bucket)
		}
		if err == nil {
			l.audio, err = l.js.Stream(ctx, "OBJ_"+bucket)
		}
		return err
	})
	if err != nil {
		return made, fmt.Errorf("bucket %s: %w", bucket, err)
	}
	for _, c := range []struct {
		jetstream.StreamConfig
		to *jetstream.Stream
	}{
		{jetstream.StreamConfig{
			Name: workStream, Subjects: []string{workSubject + ".*.*.*"}, Retention: jetstream.WorkQueuePolicy, Description: ours + "items to be spoken",
		}, &l.work},
		{jetstream.StreamConfig{
			Name: doneStream, Subjects: []string{doneSubject + ".*.*", begunSubject + ".*.*"}, Retention: jetstream.LimitsPolicy,
			Description: ours + "what was begun, and what came of it",
		}, &l.done},
	} {
		c.Storage, c.MaxAge, c.Discard, c.Duplicates, c.MaxBytes = jetstream.FileStorage, keepFor, jetstream.DiscardNew, duplicateWindow, leastBytes
		err := l.persist(ctx, func(ctx context.Context) (err error) {
			if *c.to, err = l.js.Stream(ctx, c.Name); errors.Is(err, jetstream.ErrStreamNotFound) {
				if *c.to, err = l.js.CreateStream(ctx, c.StreamConfig); err == nil {
					made = append(made, c.Name)
				}
			}
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // in between
				*c.to, err = l.js.Stream(ctx, c.Name)
			}
			return err
		})
		if err != nil {
			return made, fmt.Errorf("stream %s: %w", c.Name, err)
		}
	}
	return made, nil
}

// enlarge gives what is still as small as it was made its share of the bytes, the largest
// for which all of them fit into the server's room.
func (l *Link) enlarge(ctx context.Context) error {
	type small struct {
		stream *jetstream.Stream
		bytes  int64
	}
	all := []small{{&l.audio, audioBytes}, {&l.work, streamBytes}, {&l.done, streamBytes}}
	all = slices.DeleteFunc(all, func(s small) bool {
		c := (*s.stream).CachedInfo().Config
		return c.MaxBytes != leastBytes || !strings.HasPrefix(c.Description, ours)
	})
	for share := int64(1); audioBytes/share >= leastBytes; share *= 2 {
		full := false
		for _, s := range all {
			err := l.persist(ctx, func(ctx context.Context) error {
				config := (*s.stream).CachedInfo().Config
				config.MaxBytes = max(leastBytes, s.bytes/share)
				changed, err := l.js.UpdateStream(ctx, config)
				if err == nil {
					*s.stream = changed
				}
				return err
			})
			if full = isFullServer(err); full {
				break
			}
			if err != nil {
				return fmt.Errorf("stream %s: %w", (*s.stream).CachedInfo().Config.Name, err)
			}
		}
		if !full {
			return nil
		}
	}
	return nil // they stay as they are
}
