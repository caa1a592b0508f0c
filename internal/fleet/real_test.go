package fleet

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/batch"
)

// realServer starts the nats-server that MYNAH_NATS_SERVER names.
func realServer(t *testing.T, port int, args ...string) *exec.Cmd {
	t.Helper()
	binary := os.Getenv("MYNAH_NATS_SERVER")
	if binary == "" {
		t.Skip("MYNAH_NATS_SERVER names no nats-server")
	}
	cmd := exec.Command(binary, append([]string{"-a", "127.0.0.1", "-p", fmt.Sprint(port), "--user", "mynah", "--pass", "secret"}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
			return cmd
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatal(err)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// A server as people run it, with a user, is killed in the midst of a job and started again
// over the same folder.
func TestRealServer(t *testing.T) {
	t.Parallel()
	port, dir := freePort(t), t.TempDir()
	server := realServer(t, port, "-js", "-sd", dir)
	where := at(fmt.Sprintf("nats://mynah:secret@127.0.0.1:%d", port))
	e := &engine{delay: 10 * time.Millisecond}
	for range 3 {
		employ(t, where, e, briefly)
	}
	o := jobOptions(t)
	o.Format = audio.FLAC
	want := local(t, read(t, batch.Text, story(40)), o)
	restart := make(chan struct{}, 1)
	made := 0
	o.Done = func(*batch.Record) {
		if made++; made == 10 {
			restart <- struct{}{}
		}
	}
	var over sync.WaitGroup
	over.Go(func() {
		<-restart
		_ = server.Process.Kill()
		_ = server.Wait()
		realServer(t, port, "-js", "-sd", dir)
	})
	if r := run(t, read(t, batch.Text, story(40)), o, queueFor(where, nil)); r.Made != 40 {
		t.Errorf("%+v", r.Progress)
	}
	over.Wait()
	equal(t, contents(t, o.Dir), want)
	empty(t, where)

	_, err := (&Server{URL: fmt.Sprintf("nats://mynah:wrong@127.0.0.1:%d", port)}).Connect(t.Context(), "test")
	if err == nil || !strings.Contains(err.Error(), "Authorization Violation") {
		t.Errorf("a wrong password: %v", err)
	}
}

// A server without JetStream, and one with little room, say so or do.
func TestRealServerIsPoor(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	realServer(t, port)
	s := at(fmt.Sprintf("nats://mynah:secret@127.0.0.1:%d", port))
	s.Patience = time.Second
	_, err := s.Connect(t.Context(), "test")
	if err == nil || !strings.Contains(err.Error(), "it has no JetStream (a server that is started with -js has)") {
		t.Errorf("without JetStream: %v", err)
	}

	port = freePort(t)
	dir := t.TempDir()
	config := dir + "/nats.conf"
	if err := os.WriteFile(config, []byte("jetstream { max_file_store: 100M, store_dir: "+dir+" }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	realServer(t, port, "-c", config)
	link, err := (&Server{URL: fmt.Sprintf("nats://mynah:secret@127.0.0.1:%d", port), Patience: time.Second}).Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	info, err := link.audio.Info(t.Context())
	if err != nil || info.Config.MaxBytes < leastBytes || info.Config.MaxBytes > 100<<20 {
		t.Errorf("with 100 MB: %+v %v", info, err)
	}
}

// fullDisk has room for so many bytes of files that are opened.
type fullDisk struct {
	quickDisk
	left   *atomic.Int64
	before func() // it is found to be full
}

type fullFile struct {
	batch.File
	disk fullDisk
}

func (d fullDisk) Open(path string, flag int) (batch.File, error) {
	f, err := d.quickDisk.Open(path, flag)
	return fullFile{f, d}, err
}

func (f fullFile) Write(p []byte) (int, error) {
	if f.disk.left.Add(-int64(len(p))) < 0 {
		f.disk.before()
		return 0, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return f.File.Write(p)
}

// A full disk ends the job. What was made stays on the server, and is taken when there is
// room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	e := &engine{}
	employ(t, at(server.Addr()), e, nil)
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, story(12)), o)
	left := &atomic.Int64{}
	left.Store(100_000)
	ordered := orders(t, at(server.Addr()))
	o.Disk = fullDisk{left: left, before: func() { until(t, "12 orders", func() bool { return ordered() == 12 }) }}
	r, err := try(t.Context(), read(t, batch.Text, story(12)), o, queueFor(at(server.Addr()), nil))
	if !errors.Is(err, syscall.ENOSPC) || r.Failed > 0 || r.Made == 12 {
		t.Fatalf("%v, %+v", err, r)
	}
	until(t, "12 items that are spoken", func() bool { return e.spoke.Load() == 12 })
	o.Disk = quickDisk{}
	if r := run(t, read(t, batch.Text, story(12)), o, queueFor(at(server.Addr()), nil)); r.Made+r.Kept != 12 || e.spoke.Load() != 12 {
		t.Errorf("%+v, %d spoken", r.Progress, e.spoke.Load())
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, at(server.Addr()))
}

// A worker whose disk is full gives its orders back and ends; another makes them, however
// often that was before.
func TestWorkerWithoutDisk(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	poor := employ(t, at(server.Addr()), &engine{}, func(w *Worker) { w.Dir = file })
	if err := poor.stop(); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a worker without a folder: %v", err)
	}
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, story(4)), o)
	broken := &engine{on: func(string) error { return batch.JobError(errors.New("no space left on device")) }}
	done := make(chan error, 1)
	go func() {
		_, err := try(t.Context(), read(t, batch.Text, story(4)), o, queueFor(at(server.Addr()), func(o *Options) { o.Tries = 2 }))
		done <- err
	}()
	for range 4 { // at least one order is begun by more of them than may begin it in vain
		if err := employ(t, at(server.Addr()), broken, nil).wait(); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("a worker with a full disk: %v", err)
		}
	}
	employ(t, at(server.Addr()), &engine{}, nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, at(server.Addr()))
}
