package hub

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/hub/hubtest"
)

// cutAfter serves a request as the server would and cuts it after so many bytes.
func cutAfter(w http.ResponseWriter, q *http.Request, s *hubtest.Server, n int) {
	s.Serve(&cutter{w, n}, q)
	panic(http.ErrAbortHandler)
}

type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	c.ResponseWriter.Write(p[:n])
	if c.left == 0 {
		http.NewResponseController(c.ResponseWriter).Flush()
		return n, errors.New("cut")
	}
	return n, nil
}

// Each fault is either got over, and told, or ends the pull in one line.
func TestPullFaults(t *testing.T) {
	large := func(q *http.Request, s *hubtest.Server) bool { return q.Host == s.Contents.Listener.Addr().String() }
	for _, tc := range []struct {
		name  string
		fault func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool // n counts the requests that it may answer
		note  string
		fails string
	}{
		{"busy", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if n > 2 {
				return false
			}
			w.Header().Set("Retry-After", "7")
			w.WriteHeader([]int{429, 503, 500}[n])
			return true
		}, "answers 429 Too Many Requests; trying again in 7s", ""},
		{"broken for ever", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			w.WriteHeader(502)
			return true
		}, "", "answers 502 Bad Gateway; tried 8 times"},
		{"asks for an hour", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
			return true
		}, "", "answers 429 Too Many Requests; it asks to wait 1h0m0s"},
		{"expired address", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if n > 0 || !large(q, s) {
				return false
			}
			w.WriteHeader(403)
			return true
		}, "answers 403 Forbidden; trying again", ""},
		{"wrong length", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if !large(q, s) {
				return false
			}
			w.Header().Set("Content-Length", "5")
			w.Write([]byte("short"))
			return true
		}, "the server sends 5 bytes, the listing says 100000; it is begun anew", "and so it was at the second attempt"},
		{"wrong total", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if n > 0 || !large(q, s) {
				return false
			}
			w.Header().Set("Content-Range", "bytes 0-4/5")
			w.WriteHeader(206)
			w.Write([]byte("short"))
			return true
		}, "the server has 5 bytes, the listing says", ""},
		{"wrong range", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if n > 0 || !large(q, s) {
				return false
			}
			w.Header().Set("Content-Range", "bytes 7-8/100000")
			w.WriteHeader(206)
			return true
		}, "the server sends bytes 7 to 8, asked for were 0 to 32767", ""},
		{"part without a range", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if n > 0 || !large(q, s) {
				return false
			}
			w.WriteHeader(206)
			return true
		}, "sends a part and does not say which", ""},
		{"no ranges at all", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			q.Header.Del("Range")
			return false
		}, "", ""},
		{"no ranges, and a cut", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			q.Header.Del("Range")
			if n == 1 && large(q, s) {
				cutAfter(w, q, s, 50_000)
			}
			return false
		}, "", ""},
		{"no ranges any more", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if n > 1 && n < 6 && large(q, s) {
				q.Header.Del("Range")
			}
			return false
		}, "knew ranges before, and now does not", ""},
		{"chunked", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if !large(q, s) {
				return false
			}
			s.Serve(&chunked{w}, q)
			return true
		}, "", ""},
		{"longer than said", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if !strings.HasSuffix(q.URL.Path, "/vocab.json") {
				return false
			}
			w.Write([]byte(`{"a": 0}`))
			http.NewResponseController(w).Flush()
			w.Write([]byte("and more"))
			return true
		}, "", "vocab.json: the server sends more than the 8 bytes that the listing says, and so it was"},
		{"wrong digest once", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if n > 0 || !large(q, s) {
				return false
			}
			s.Serve(&flipper{w}, q)
			return true
		}, "its content has the SHA-256 ", ""},
		{"wrong digest always", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if !strings.HasSuffix(q.URL.Path, "/vocab.json") {
				return false
			}
			w.Write([]byte(`{"b": 0}`))
			return true
		}, "", "vocab.json: its content has the SHA-1 "},
		{"a web page", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if !large(q, s) {
				return false
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Write([]byte("<html>Log in"))
			return true
		}, "", "answers with a web page (text/html)"},
		{"a web page for the listing", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("<html>Log in"))
			return true
		}, "", "answers with a web page (text/html)"},
		{"compressed", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if !large(q, s) {
				return false
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Write([]byte("x"))
			return true
		}, "", `answers in the encoding "gzip"`},
		{"round and round", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if !large(q, s) {
				return false
			}
			http.Redirect(w, q, q.URL.String(), http.StatusFound)
			return true
		}, "", "redirected more than 8 times"},
		{"redirected to a file", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if !large(q, s) {
				return false
			}
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(302)
			return true
		}, "", "redirects to no address"},
		{"gone from the hub", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if !strings.Contains(q.URL.Path, "/resolve/") || !strings.HasSuffix(q.URL.Path, "vocab.json") {
				return false
			}
			hubtest.Fail(w, 404, "EntryNotFound", "")
			return true
		}, "", "org/voice: the hub lists a file vocab.json, and has no such file"},
		{"another commit", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if !strings.HasSuffix(q.URL.Path, "/vocab.json") {
				return false
			}
			w.Header().Set("X-Repo-Commit", strings.Repeat("7", 40))
			w.Write([]byte(`{"a": 0}`))
			return true
		}, "", "the hub answers from commit 7777"},
		{"other size at the hub", func(s *hubtest.Server, n int, w http.ResponseWriter, q *http.Request) bool {
			if !strings.HasSuffix(q.URL.Path, "/vocab.json") {
				return false
			}
			w.Header().Set("X-Linked-Size", "9")
			w.Write([]byte(`{"a": 0}`))
			return true
		}, "", "the hub says 9 bytes, its listing 8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := checkpoint()
			r := newRig(t, files)
			mu, n := sync.Mutex{}, map[bool]int{}
			r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
				mu.Lock()
				is := large(q, r.server)
				count := n[is]
				if is {
					n[is]++
				} else if tc.name == "busy" {
					n[is]++
				}
				mu.Unlock()
				return tc.fault(r.server, count, w, q)
			})
			p, err := r.pull(repo)
			if tc.fails == "" {
				if err != nil {
					t.Fatal(err)
				}
				r.holds(p, wanted(files))
			} else if err == nil || !strings.Contains(err.Error(), tc.fails) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "signature") {
				t.Fatalf("error %v, want one line with %q", err, tc.fails)
			}
			if tc.note != "" {
				r.noted(tc.note)
			}
			if tc.name == "busy" && (len(r.waits) < 3 || r.waits[0] != 7*time.Second) {
				t.Errorf("waited %v", r.waits)
			}
		})
	}
}

// chunked hides the length of an answer.
type chunked struct{ http.ResponseWriter }

func (c *chunked) WriteHeader(code int) {
	c.Header().Del("Content-Length")
	c.ResponseWriter.WriteHeader(code)
}

// flipper changes a bit.
type flipper struct{ http.ResponseWriter }

func (f *flipper) Write(p []byte) (int, error) {
	q := bytes.Clone(p)
	q[0] ^= 1
	return f.ResponseWriter.Write(q)
}
