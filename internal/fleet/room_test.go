package fleet

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mynah-tts/mynah/internal/batch"
)

// bucketOf makes the bucket, as an operator does, of so many bytes.
func bucketOf(t *testing.T, s Server, bytes int64) *Link {
	t.Helper()
	link := connected(t, s)
	if err := link.js.DeleteObjectStore(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	if _, err := link.js.CreateObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: bucket, MaxBytes: bytes}); err != nil {
		t.Fatal(err)
	}
	return link
}

// fill leaves no room for a message in the bucket.
func fill(t *testing.T, link *Link) {
	t.Helper()
	for _, n := range []int{1000, 1} {
		for {
			if _, err := link.js.Publish(t.Context(), chunksOf("FILL"), make([]byte, n)); isFullStream(err) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A file that never fits into the bucket is a failed item; the others are made, and no worker
// ends.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	bucketOf(t, at(server.Addr()), 100_000)
	h := employ(t, at(server.Addr()), &engine{}, nil)
	r := run(t, read(t, batch.Text, "One.\n"+strings.Repeat("A sentence. ", 30)+"\nTwo.\n"), jobOptions(t), queueFor(at(server.Addr()), nil))
	if r.Made != 2 || len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Error, "MiB does not fit into the NATS server's bucket MYNAH_AUDIO (0.1 MiB)") {
		t.Errorf("%+v %+v", r.Progress, r.Failures)
	}
	if err := h.stop(); err != nil {
		t.Errorf("the worker: %v", err)
	}
	empty(t, at(server.Addr()))
}

// Workers that cannot hand in what they have made end, and that does not count against it:
// it is made when there is room.
func TestBucketIsFull(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	link := bucketOf(t, at(server.Addr()), 100_000)
	fill(t, link)
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, story(2)), o)
	done := make(chan error, 1)
	go func() {
		_, err := try(t.Context(), read(t, batch.Text, story(2)), o, queueFor(at(server.Addr()), func(o *Options) { o.Tries = 2 }))
		done <- err
	}()
	hasty := at(server.Addr())
	hasty.Patience = 300 * time.Millisecond
	for range 3 {
		if err := employ(t, hasty, &engine{}, nil).wait(); err == nil || !strings.Contains(err.Error(), "maximum bytes exceeded") {
			t.Errorf("a worker without room: %v", err)
		}
	}
	if err := link.audio.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	employ(t, at(server.Addr()), &engine{}, nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, at(server.Addr()))
}

// A job whose orders do not fit onto the queue waits until workers have made room, for as
// long as there are workers.
func TestQueueIsFull(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	link := connected(t, at(server.Addr()))
	config := link.work.CachedInfo().Config
	config.MaxBytes = 5000
	if _, err := link.js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	hold := held{"number 1 is": make(chan struct{})}
	employ(t, at(server.Addr()), hold.engine(t), func(w *Worker) { w.Jobs = 1 })
	hasty := at(server.Addr())
	hasty.Patience = 2 * time.Second
	time.AfterFunc(5*time.Second, func() { close(hold["number 1 is"]) })
	if r := run(t, read(t, batch.Text, story(20)), jobOptions(t), queueFor(hasty, nil)); r.Made != 20 {
		t.Errorf("%+v", r.Progress)
	}
	empty(t, at(server.Addr()))
}

// Files are there as they were put, for others as well; of what did not fit nothing stays,
// and removal needs no room.
func TestPut(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	link := bucketOf(t, at(server.Addr()), 400_000)
	objects, err := link.js.ObjectStore(t.Context(), bucket)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, chunkBytes, chunkBytes + 1, 2*chunkBytes + 100} {
		data := strings.Repeat("0123456789", n/10+1)[:n]
		if err := link.put(t.Context(), "file", strings.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		if got, err := objects.GetString(t.Context(), "file"); err != nil || got != data {
			t.Errorf("the client reads %d bytes of %d, %v", len(got), n, err)
		}
		var b strings.Builder
		if got, err := link.chunks(t.Context(), object{Name: "file", Bytes: int64(n)}, &b); err != nil || int(got) != n || b.String() != data {
			t.Errorf("%d bytes of %d are read, %v", got, n, err)
		}
		if n == 1 {
			fill(t, link)
		}
		if err := link.remove(t.Context(), "file"); err != nil {
			t.Errorf("file of %d bytes, removed: %v", n, err)
		}
		if n == 1 {
			if err := link.audio.Purge(t.Context(), jetstream.WithPurgeSubject(chunksOf("FILL"))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := link.put(t.Context(), "large", strings.NewReader(strings.Repeat("x", 500_000))); !isFullStream(err) {
		t.Errorf("a file that does not fit: %v", err)
	}
	if info, err := link.audio.Info(t.Context()); err != nil || info.State.Msgs > 0 {
		t.Errorf("%d messages stay, %v", info.State.Msgs, err)
	}
}

// A server takes messages that are smaller than a piece of a file usually is, and than the record
// of an item whose order it takes.
func TestSmallMessages(t *testing.T) {
	t.Parallel()
	const most = 16 << 10
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, MaxPayload: most,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup((&Embedded{s, ""}).Stop)
	if !s.ReadyForConnections(startTime) {
		t.Fatal("the server is not ready")
	}
	where := at(s.ClientURL())
	noise := rand.New(rand.NewPCG(1, 2))
	lines := "One.\n"
	for range 900 {
		for range 6 {
			lines += string('一' + rune(noise.IntN('龥'-'一')))
		}
		lines += "。"
	}
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, lines), o)
	_, line, _ := strings.Cut(want[batch.ManifestName], "\n")
	var record batch.Record
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		t.Fatal(err)
	}
	record.Text = "" // which the folder has
	m, err := pack("record", record)
	if err != nil {
		t.Fatal(err)
	}
	if file := len(want["0002.wav"]); len(m.Data) <= most || file <= most {
		t.Fatalf("the record has %d bytes, packed, and the file %d: they fit into a message", len(m.Data), file)
	}
	employ(t, where, &engine{}, nil)
	if r := run(t, read(t, batch.Text, lines), o, queueFor(where, nil)); r.Made != 2 || r.Failed != 0 {
		t.Errorf("%+v", r.Progress)
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, where)
	left, err := connected(t, where).audio.Info(t.Context())
	if err != nil || left.State.Msgs > 0 {
		t.Errorf("%d messages of files are left, %v", left.State.Msgs, err)
	}
}

// What may be another time is told from what is not.
func TestPassing(t *testing.T) {
	for _, c := range []struct {
		api  jetstream.APIError
		want bool
	}{
		{jetstream.APIError{Code: 429, ErrorCode: 10167}, true}, {jetstream.APIError{Code: 503, ErrorCode: storeFailed}, true},
		{jetstream.APIError{Code: 500, ErrorCode: insufficientStorage}, false}, {jetstream.APIError{Code: 404, ErrorCode: jetstream.JSErrCodeStreamNotFound}, false},
	} {
		if got := passing(&c.api); got != c.want {
			t.Errorf("%+v: %t", c.api, got)
		}
	}
}
