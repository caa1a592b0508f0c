package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// fetch fetches a file into its blob. If a server contradicts itself or the listing, the
// file is begun anew, once.
func (p *Pull) fetch(ctx context.Context, f File, connections int) error {
	for again := false; ; again = true {
		counted, err := p.transfer(ctx, f, connections)
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx) // which may be the fault of another file
		}
		var odd *inconsistentError
		if !errors.As(err, &odd) {
			return err
		}
		p.have.Add(-counted)
		f.Have = 0
		for _, end := range []string{incompleteEnd, journalEnd} {
			if err := os.Remove(p.store.blob(f.Digest) + end); err != nil && !os.IsNotExist(err) {
				return onDisk(err)
			}
		}
		if again {
			return fmt.Errorf("%s: %s: %w, and so it was at the second attempt", p.plan.Name, f.Path, err)
		}
		p.hub.client.note(fmt.Sprintf("%s: %v; it is begun anew", f.Path, err))
	}
}

// transfer is one attempt at a file.
type transfer struct {
	pull    *Pull
	of      File
	url     *url.URL
	file    *os.File
	journal *journal
	begun   chan struct{} // closed when the first answer shows whether there are ranges

	counted atomic.Int64 // bytes of it that the pull's progress has
	once    sync.Once

	mu    sync.Mutex
	queue []span // that nobody has taken
	hosts bool   // several hosts send the content, each with an ETag of its own
	whole bool   // the server knows no ranges: one request for all, and one worker
}

// count moves the progress.
func (t *transfer) count(n int64) {
	t.counted.Add(n)
	t.pull.have.Add(n)
}

// transfer fetches what is missing of a file, checks it and gives it the name of its blob. It
// returns how many bytes of it the progress has.
func (p *Pull) transfer(ctx context.Context, f File, connections int) (counted int64, err error) {
	blob := p.store.blob(f.Digest)
	t := &transfer{pull: p, of: f, url: p.hub.client.fileURL(p.plan.Name.Repo, p.plan.Commit, f.Path), begun: make(chan struct{})}
	t.counted.Store(f.Have)
	if err := t.open(blob); err != nil {
		return 0, err
	}
	defer t.file.Close()
	defer t.journal.close()
	if err := t.fetch(ctx, connections); err != nil {
		return t.counted.Load(), err
	}
	if err := t.file.Sync(); err != nil {
		return 0, onDisk(err)
	}
	if err := verify(ctx, blob+incompleteEnd, f.Size, f.Digest); err != nil {
		return t.counted.Load(), err
	}
	t.journal.close()
	if err := t.file.Close(); err != nil {
		return 0, onDisk(err)
	}
	if err := os.Rename(blob+incompleteEnd, blob); err != nil {
		return 0, onDisk(err)
	}
	syncDir(filepath.Dir(blob))
	_ = os.Remove(blob + journalEnd) // a journal without its file is none
	return t.counted.Load(), nil
}

// open opens what an earlier run left, or begins.
func (t *transfer) open(blob string) (err error) {
	if t.journal = readJournal(blob+journalEnd, t.of.Size); t.journal != nil && sizeOf(blob+incompleteEnd) < 0 {
		t.journal = nil
	}
	mode := os.O_RDWR | os.O_CREATE
	if t.journal == nil {
		t.journal = &journal{head: journalHead{Version: journalVersion, Size: t.of.Size}}
		mode |= os.O_TRUNC
	}
	t.count(t.journal.have() - t.of.Have)
	if t.file, err = os.OpenFile(blob+incompleteEnd, mode, 0o666); err != nil {
		return onDisk(err)
	}
	if err := t.journal.write(blob + journalEnd); err != nil {
		t.file.Close()
		return onDisk(err)
	}
	return nil
}

// fetch runs the workers. The others begin when the first has an answer with a range.
func (t *transfer) fetch(ctx context.Context, connections int) error {
	t.queue = t.journal.missing(t.pull.hub.part)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	work := func() {
		defer t.once.Do(func() { close(t.begun) })
		buffer := make([]byte, bufferSize)
		for s, ok := t.take(); ok && ctx.Err() == nil; s, ok = t.take() {
			if err := t.span(ctx, s, buffer); err != nil {
				cancel(err)
			}
		}
	}
	workers.Go(work)
	<-t.begun
	t.mu.Lock()
	more := min(connections-1, len(t.queue))
	t.mu.Unlock()
	for range more {
		workers.Go(work)
	}
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (t *transfer) take() (s span, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return s, false
	}
	s, t.queue = t.queue[0], t.queue[1:]
	return s, true
}

// span fetches one range, in as many requests as it takes.
func (t *transfer) span(ctx context.Context, s span, buffer []byte) error {
	tries := attempts{client: t.pull.hub.client, what: t.of.Path}
	for s.start < s.end {
		before := s.start
		err := t.request(ctx, &s, buffer)
		if err == nil {
			continue
		}
		if s.start > before {
			tries.failed = 0
		}
		if err := tries.again(ctx, err); err != nil {
			return t.word(ctx, err)
		}
	}
	return nil
}

// word says what a final failure is about.
func (t *transfer) word(ctx context.Context, err error) error {
	n := t.pull.plan.Name
	var status *statusError
	switch {
	case errors.As(err, new(*inconsistentError)), errors.As(err, new(*diskError)), ctx.Err() != nil:
		return err
	case errors.As(err, &status) && status.own && status.status == http.StatusNotFound && status.code != "RepoNotFound":
		return fmt.Errorf("%s: the hub lists a file %s, and has no such file", n, t.of.Path)
	case errors.As(err, &status) && status.own && !status.passes():
		return t.pull.hub.client.explain(ctx, n, err)
	}
	return fmt.Errorf("%s: %s: %w", n, t.of.Path, err)
}

// request asks for a range and stores what comes. The range's start moves with it.
func (t *transfer) request(ctx context.Context, s *span, buffer []byte) error {
	header := http.Header{}
	t.mu.Lock()
	host, content, hosts := t.journal.head.Host, t.journal.head.Content, t.hosts
	t.mu.Unlock()
	if s.start > 0 || s.end < t.of.Size {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", s.start, s.end-1))
		if strings.HasPrefix(content, `"`) && !hosts { // a weak one compares nothing
			header.Set("If-Range", content)
		}
	}
	a, err := t.pull.hub.client.open(ctx, http.MethodGet, t.url, header)
	var status *statusError
	if errors.As(err, &status) && status.status == http.StatusRequestedRangeNotSatisfiable {
		return &inconsistentError{fmt.Sprintf("the server has no bytes from %d on, the listing says %d bytes", s.start, t.of.Size)}
	}
	if err != nil {
		return err
	}
	defer a.close()
	if header.Get("If-Range") != "" && a.host != host && a.StatusCode == http.StatusOK {
		// Another host may have another ETag for the same content: ask again without.
		t.mu.Lock()
		t.hosts = true
		t.mu.Unlock()
		return nil
	}
	end, err := t.check(a, *s)
	if err != nil {
		return err
	}
	if a.StatusCode == http.StatusOK && header.Get("Range") != "" {
		if err := t.withoutRanges(s); err != nil {
			return err
		}
		end = s.end
	}
	if err := t.learn(a); err != nil {
		return err
	}
	t.once.Do(func() { close(t.begun) })
	return t.copy(a, s, end, buffer)
}

// check compares what an answer says of the file with what was said before. It returns
// where the answer ends: a server may send less than was asked for.
func (t *transfer) check(a *answer, s span) (int64, error) {
	odd := func(format string, args ...any) (int64, error) {
		return 0, &inconsistentError{fmt.Sprintf(format, args...)}
	}
	t.mu.Lock()
	head := t.journal.head
	t.mu.Unlock()
	if isPage(a.Header) {
		return 0, permanent(pageError(a.host))
	}
	switch content := a.Header.Get("Etag"); {
	case a.size >= 0 && a.size != t.of.Size:
		return odd("the hub says %d bytes, its listing %d", a.size, t.of.Size)
	case commitPattern.MatchString(a.commit) && a.commit != t.pull.plan.Commit:
		return odd("the hub answers from commit %s, not %s", a.commit, t.pull.plan.Commit)
	case head.Linked != "" && a.identity != "" && head.Linked != a.identity,
		head.Host == a.host && head.Content != "" && content != "" && head.Content != content:
		return odd("the file changed at the hub while it was being fetched")
	}
	if a.StatusCode == http.StatusOK {
		if a.ContentLength >= 0 && a.ContentLength != t.of.Size {
			return odd("the server sends %d bytes, the listing says %d", a.ContentLength, t.of.Size)
		}
		return s.end, nil
	}
	var start, end, total int64
	given := a.Header.Get("Content-Range")
	if _, err := fmt.Sscanf(given, "bytes %d-%d/%d", &start, &end, &total); err != nil {
		if _, err := fmt.Sscanf(given, "bytes %d-%d/*", &start, &end); err != nil {
			return odd("the server sends a part and does not say which (Content-Range %.60q)", given)
		}
		total = t.of.Size
	}
	switch {
	case total != t.of.Size:
		return odd("the server has %d bytes, the listing says %d", total, t.of.Size)
	case start != s.start || end < start || end >= s.end:
		return odd("the server sends bytes %d to %d, asked for were %d to %d", start, end, s.start, s.end-1)
	case a.ContentLength >= 0 && a.ContentLength != end-start+1:
		return odd("the server sends %d bytes as bytes %d to %d", a.ContentLength, start, end)
	}
	return end + 1, nil
}

// learn keeps what later answers are compared with.
func (t *transfer) learn(a *answer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	head := &t.journal.head
	before := *head
	if head.Linked == "" {
		head.Linked = a.identity
	}
	if head.Host == "" {
		head.Host, head.Content = a.host, a.Header.Get("Etag")
	}
	if *head == before {
		return nil
	}
	return onDisk(t.journal.write(t.pull.store.blob(t.of.Digest) + journalEnd))
}

// withoutRanges turns to one request for all of the file, of which nothing can be kept.
func (t *transfer) withoutRanges(s *span) error {
	select {
	case <-t.begun:
		if !t.alone() {
			return &inconsistentError{"the server knew ranges before, and now does not"}
		}
	default:
	}
	t.mu.Lock()
	t.whole, t.queue = true, nil
	t.mu.Unlock()
	t.count(-t.journal.have())
	t.journal.mu.Lock()
	t.journal.done = nil
	t.journal.mu.Unlock()
	*s = span{0, t.of.Size}
	return onDisk(t.journal.write(t.pull.store.blob(t.of.Digest) + journalEnd))
}

// alone reports whether one request at a time fetches the file.
func (t *transfer) alone() bool { return t.whole || t.of.Size <= t.pull.hub.part }

// copy stores the body of an answer, up to a byte.
func (t *transfer) copy(a *answer, s *span, to int64, buffer []byte) error {
	p, recorded := t.pull, s.start
	record := func() error {
		if t.whole {
			return nil
		}
		r := span{recorded, s.start}
		recorded = s.start
		return onDisk(t.journal.add(r))
	}
	for s.start < to {
		n, err := a.Read(buffer[:min(int64(len(buffer)), to-s.start)])
		if n > 0 {
			p.received.Add(int64(n))
			if _, err := p.hub.writeAt(t.file, buffer[:n], s.start); err != nil {
				_ = record() // that the disk fails is the news
				return onDisk(err)
			}
			s.start += int64(n)
			t.count(int64(n))
			if s.start-recorded >= p.hub.grain {
				if err := record(); err != nil {
					return err
				}
			}
		}
		if err != nil && s.start < to {
			return t.cut(a, s, err, record)
		}
	}
	if a.ContentLength < 0 {
		if n, _ := a.Read(buffer[:1]); n > 0 {
			return &inconsistentError{fmt.Sprintf("the server sends more than the %d bytes that the listing says", t.of.Size)}
		}
	}
	if t.whole { // which it is for one worker only
		t.whole = false // there is nothing left to begin anew
	}
	return record()
}

// cut ends a request whose body ended early.
func (t *transfer) cut(a *answer, s *span, err error, record func() error) error {
	if t.whole { // begins at the beginning the next time
		t.count(-s.start)
		s.start = 0
	}
	if e := record(); e != nil {
		return e
	}
	var stalled errStalled
	switch {
	case errors.As(err, &stalled):
		return fmt.Errorf("%s: %w", a.host, err)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: the connection was cut at byte %d of %d", a.host, s.start, t.of.Size)
	}
	return withoutURL(a.Request.URL, err)
}
