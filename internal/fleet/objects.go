package fleet

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Files lie in the object store as the client puts them there, and as others read them. But
// they are put and read here, a message at a time. The client's own writer has hundreds of
// megabytes on their way at once, more than a server takes in that writes to its disk more
// slowly than it hears; and its reader leaves a goroutine behind for ever if the server goes
// at the wrong moment.

const (
	// chunkBytes is how much of a file is in a message, if the server takes as much.
	chunkBytes = 128 << 10

	// headBytes is what of a message's most bytes is left to its header.
	headBytes = 512
)

// chunk is how much of a file is in a message.
func (l *Link) chunk() int64 { return max(1, min(chunkBytes, l.conn.MaxPayload()-headBytes)) }

func chunksOf(id string) string { return "$O." + bucket + ".C." + id }

func metaOf(name string) string {
	return "$O." + bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

// put stores a file in one go, under a name that no other has. What it leaves if it fails is
// removed, or ends with its age.
func (l *Link) put(ctx context.Context, name string, from io.Reader) (err error) {
	info := jetstream.ObjectInfo{Bucket: bucket, NUID: rand.Text()}
	info.Name, info.Opts = name, &jetstream.ObjectMetaOptions{ChunkSize: uint32(l.chunk())}
	defer func() {
		if err != nil && info.Chunks > 0 && l.conn.IsConnected() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
			defer cancel()
			_ = l.audio.Purge(ctx, jetstream.WithPurgeSubject(chunksOf(info.NUID))) // the first error is the one to tell
		}
	}()
	h, chunk := sha256.New(), make([]byte, info.Opts.ChunkSize)
	for {
		n, err := io.ReadFull(from, chunk)
		if n > 0 {
			info.Chunks++ // it may be there though the answer is lost
			if err := l.send(ctx, &nats.Msg{Subject: chunksOf(info.NUID), Data: chunk[:n]}); err != nil {
				return err
			}
			h.Write(chunk[:n])
			info.Size += uint64(n)
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return err
		}
	}
	info.Digest = jetstream.GetObjectDigestValue(h)
	m := nats.NewMsg(metaOf(name))
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	if m.Data, err = json.Marshal(info); err == nil {
		err = l.send(ctx, m)
	}
	return err
}

// send stores a message of a file. If the answer is lost it is not waited for as long as the
// whole file may take.
func (l *Link) send(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, transferTime(chunkBytes))
	defer cancel()
	_, err := l.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	return err
}

// get reads a file. One that is not what its description says is a voidError.
func (l *Link) get(ctx context.Context, from object, to io.Writer) error {
	h := sha256.New()
	n, err := l.chunks(ctx, from, io.MultiWriter(h, to))
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); n != from.Bytes || sum != from.SHA256 {
		return &voidError{fmt.Errorf("its file has %d bytes and digest %.12s, its record says %d and %.12s", n, sum, from.Bytes, from.SHA256)}
	}
	return nil
}

// chunks reads a file, up to the piece in which it becomes longer than it should be.
func (l *Link) chunks(ctx context.Context, from object, to io.Writer) (n int64, err error) {
	info, err := l.objects.GetInfo(ctx, from.Name)
	if err != nil {
		return 0, err
	}
	next := uint64(1)
	for range info.Chunks {
		if n > from.Bytes {
			break
		}
		ctx, cancel := context.WithTimeout(ctx, transferTime(chunkBytes))
		m, err := l.audio.GetMsg(ctx, next, jetstream.WithGetMsgSubject(chunksOf(info.NUID)))
		cancel()
		if err != nil {
			return n, err
		}
		written, err := to.Write(m.Data)
		n += int64(written)
		if err != nil {
			return n, err
		}
		next = m.Sequence + 1
	}
	return n, nil
}

// remove takes a file out. It needs no room for that, as a mark of the removal would.
func (l *Link) remove(ctx context.Context, name string) error {
	return l.persist(ctx, func(ctx context.Context) error {
		info, err := l.objects.GetInfo(ctx, name, jetstream.GetObjectInfoShowDeleted())
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		}
		if err == nil {
			err = l.audio.Purge(ctx, jetstream.WithPurgeSubject(chunksOf(info.NUID)))
		}
		if err == nil {
			err = l.audio.Purge(ctx, jetstream.WithPurgeSubject(metaOf(name)))
		}
		return err
	})
}

// drop removes the files of a result as far as the server can be reached; what stays ends
// with its age.
func (l *Link) drop(ctx context.Context, r *resultMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearTime)
	defer cancel()
	for _, o := range []object{r.Audio, r.Part, r.Aside} {
		if o.Name != "" && l.conn.IsConnected() {
			_ = l.remove(ctx, o.Name)
		}
	}
}
