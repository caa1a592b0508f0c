package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// small starts a server whose JetStream has so many bytes, and connects to it.
func small(t *testing.T, room int64) Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: room, NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return Server{URL: s.ClientURL(), Patience: 10 * time.Second}
}

// TestRoom has a bucket and both streams fit into whatever room a server has, and leave
// nothing behind where they do not.
func TestRoom(t *testing.T) {
	const mib = 1 << 20
	for _, room := range []int64{24 * mib, 40 * mib, 1 << 30, 2 << 30, 3 << 30, 17 << 30, 64 << 30} {
		t.Run(fmt.Sprintf("%d MiB", room/mib), func(t *testing.T) {
			s := small(t, room)
			for range 2 { // what is there is taken
				link, err := s.Connect(t.Context(), "test")
				if err != nil {
					t.Fatal(err)
				}
				sum := int64(0)
				for _, stream := range []jetstream.Stream{link.audio, link.work, link.done} {
					sum += stream.CachedInfo().Config.MaxBytes
				}
				if sum > room || sum < min(room/4, audioBytes) {
					t.Errorf("%d MiB of %d are reserved", sum/mib, room/mib)
				}
				link.Close()
			}
		})
	}
	t.Run("too little", func(t *testing.T) {
		s := small(t, 20*mib)
		_, err := s.Connect(t.Context(), "test")
		if err == nil || !strings.Contains(err.Error(), "its JetStream has no room for 24 MiB of files and orders") {
			t.Errorf("error %v", err)
		}
		link := &Link{patience: s.Patience, again: make(chan struct{})}
		if link.conn, err = s.dial(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		defer link.Close()
		if link.js, err = jetstream.New(link.conn); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for stream := range link.js.ListStreams(ctx).Info() {
			t.Errorf("stream %s is left", stream.Config.Name)
		}
	})
}

// TestRoomTogether has many begin at once with a server that has too little room for
// everything as large as it may be: nobody removes what another has found.
func TestRoomTogether(t *testing.T) {
	const room = 2 << 30
	for range 5 {
		s := small(t, room)
		var all sync.WaitGroup
		links := make([]*Link, 8)
		for i := range links {
			all.Go(func() {
				link, err := s.Connect(t.Context(), "test")
				if err != nil {
					t.Error(err)
					return
				}
				links[i] = link
			})
		}
		all.Wait()
		sum := int64(0)
		for i, link := range links {
			if link == nil {
				continue
			}
			defer link.Close()
			for _, stream := range []jetstream.Stream{link.audio, link.work, link.done} {
				found := stream.CachedInfo()
				info, err := stream.Info(t.Context())
				if err != nil || !info.Created.Equal(found.Created) {
					t.Errorf("%s that was found is not there any more: %v", found.Config.Name, err)
				} else if i == 0 {
					sum += info.Config.MaxBytes
				}
			}
		}
		if sum > room || sum < room/8 {
			t.Errorf("%d MiB of %d are reserved", sum>>20, room>>20)
		}
	}
}

// TestWaitsAtStart connects to a server that is there after a while, and not to one whose
// password is another.
func TestWaitsAtStart(t *testing.T) {
	first, err := StartServer("", t.TempDir(), "token")
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(first.Addr(), "nats://")
	first.Stop()
	notes := make(chan string, 9)
	s := Server{URL: "nats://" + address, Token: "token", Patience: time.Minute, Note: func(line string) { notes <- line }}
	again := make(chan *Embedded)
	go func() {
		<-notes
		second, err := StartServer(address, t.TempDir(), "token")
		if err != nil {
			t.Error(err)
		}
		again <- second
	}()
	link, err := s.Connect(t.Context(), "test")
	if second := <-again; second != nil {
		defer second.Stop()
	}
	if err != nil {
		t.Fatal(err)
	}
	link.Close()
	s.Token = "wrong"
	if _, err := s.Connect(t.Context(), "test"); err == nil || !strings.Contains(err.Error(), "uthorization") || len(notes) > 0 {
		t.Errorf("error %v", err)
	}
}

// TestShortPatience: a patience below the pause between two tries is used too, to its end, and
// whoever waits is told.
func TestShortPatience(t *testing.T) {
	var notes []string
	s := Server{URL: "nats://127.0.0.1:1", Patience: reconnectWait / 2, Note: func(line string) { notes = append(notes, line) }}
	begun := time.Now()
	link, err := s.Connect(t.Context(), "test")
	if err == nil {
		link.Close()
		t.Fatal("connected to nothing")
	}
	if took := time.Since(begun); took < s.Patience {
		t.Errorf("gave up after %v of %v", took, s.Patience)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "waiting for it for "+s.Patience.String()) {
		t.Errorf("told %q", notes)
	}
}
