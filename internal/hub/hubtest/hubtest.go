// Package hubtest is a hub for tests, on the loopback interface: the part of the protocol of
// a Hugging Face hub that fetching a model takes, and a second server to which the contents of
// large files are redirected. Tests put faults before it.
package hubtest

import (
	"bytes"
	"crypto/sha1" // git's name of a blob
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a hub and the host of its large files.
type Server struct {
	Hub, Contents *httptest.Server
	Large         int    // bytes from which a file is a large one, kept by SHA-256 at the other host
	Page          int    // files of a page of a listing
	Token         string // that is wanted; "" lets everybody in
	Gated         bool   // the token's account has no access

	Sent atomic.Int64 // bytes of contents that were written

	mu       sync.Mutex
	repos    map[string]map[string]string // repository, revision: commit
	commits  map[string]map[string][]byte // commit, path: content
	requests []Request
	fault    func(w http.ResponseWriter, r *http.Request) bool
}

// Request is what was asked for.
type Request struct {
	Host, Method, Path, Range, Authorization string
}

// New starts one.
func New() *Server {
	s := &Server{Large: 1 << 10, Page: 3, repos: map[string]map[string]string{}, commits: map[string]map[string][]byte{}}
	s.Hub = httptest.NewServer(s.before(s.hub))
	s.Contents = httptest.NewServer(s.before(s.contents))
	return s
}

// Close ends both servers.
func (s *Server) Close() {
	s.Hub.CloseClientConnections()
	s.Contents.CloseClientConnections()
	s.Hub.Close()
	s.Contents.Close()
}

// Put makes a commit of a repository's revision and returns it.
func (s *Server) Put(repo, revision string, files map[string][]byte) (commit string) {
	h := sha1.New()
	for _, name := range sorted(files) {
		fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(files[name]))
	}
	commit = hex.EncodeToString(h.Sum(nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repos[repo] == nil {
		s.repos[repo] = map[string]string{}
	}
	s.repos[repo][revision], s.repos[repo][commit] = commit, commit
	s.commits[commit] = files
	return commit
}

// PutFS is Put of all files of a file system.
func (s *Server) PutFS(repo, revision string, fsys fs.FS) (string, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[p], err = fs.ReadFile(fsys, p)
		return err
	})
	return s.Put(repo, revision, files), err
}

func sorted(files map[string][]byte) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Digest is the name of a content's blob.
func (s *Server) Digest(content []byte) string {
	if len(content) >= s.Large {
		return fmt.Sprintf("%x", sha256.Sum256(content))
	}
	return GitDigest(content)
}

// GitDigest is git's name of a blob.
func GitDigest(content []byte) string {
	return fmt.Sprintf("%x", sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...)))
}

// Asked returns what was asked for until now.
func (s *Server) Asked() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// before records a request and lets the fault have it.
func (s *Server) before(then http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, Request{r.Host, r.Method, r.URL.EscapedPath(), r.Header.Get("Range"), r.Header.Get("Authorization")})
		fault := s.fault
		s.mu.Unlock()
		w = &counter{w, s}
		if fault == nil || !fault(w, r) {
			then(w, r)
		}
	})
}

// Serve answers as if there were no fault.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request) {
	if r.Host == s.Contents.Listener.Addr().String() {
		s.contents(w, r)
		return
	}
	s.hub(w, r)
}

// SetFault sets what sees each request first, and reports whether it answered it.
func (s *Server) SetFault(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// SetToken sets Token while other processes may ask.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Token = token
}

type counter struct {
	http.ResponseWriter
	server *Server
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.server.Sent.Add(int64(n))
	return n, err
}

func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Fail answers as the hub does.
func Fail(w http.ResponseWriter, status int, code, message string) {
	if code != "" {
		w.Header().Set("X-Error-Code", code)
	}
	if message != "" {
		w.Header().Set("X-Error-Message", message)
	}
	w.WriteHeader(status)
}

// hub answers at the hub's own address.
func (s *Server) hub(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	token := s.Token
	s.mu.Unlock()
	if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
		Fail(w, http.StatusUnauthorized, "RepoNotFound", "Repository not found")
		return
	}
	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/models/"); ok {
		s.api(w, r, rest)
		return
	}
	repo, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/resolve/")
	revision, path, ok2 := strings.Cut(rest, "/")
	path, err := url.PathUnescape(path)
	if !ok || !ok2 || err != nil {
		http.NotFound(w, r)
		return
	}
	commit, ok := s.commit(w, repo, revision)
	if !ok {
		return
	}
	if s.Gated {
		Fail(w, http.StatusForbidden, "GatedRepo", "Access to model "+repo+" is restricted.")
		return
	}
	s.mu.Lock()
	content, ok := s.commits[commit][path]
	s.mu.Unlock()
	w.Header().Set("X-Repo-Commit", commit)
	if !ok {
		Fail(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
		return
	}
	if len(content) < s.Large {
		w.Header().Set("Etag", `"`+s.Digest(content)+`"`)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		return
	}
	w.Header().Set("X-Linked-Etag", `"`+s.Digest(content)+`"`)
	w.Header().Set("X-Linked-Size", strconv.Itoa(len(content)))
	http.Redirect(w, r, s.Contents.URL+"/"+commit+"/"+url.PathEscape(path)+"?signature=secret", http.StatusFound)
}

func (s *Server) commit(w http.ResponseWriter, repo, revision string) (string, bool) {
	revision, _ = url.PathUnescape(revision)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repos[repo] == nil {
		Fail(w, http.StatusNotFound, "RepoNotFound", "Repository not found")
		return "", false
	}
	commit, ok := s.repos[repo][revision]
	if !ok {
		Fail(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+revision)
	}
	return commit, ok
}

// api answers questions about a repository.
func (s *Server) api(w http.ResponseWriter, r *http.Request, rest string) {
	repo, what, revision := rest, "", "main"
	for _, each := range []string{"/revision/", "/tree/"} {
		if before, after, ok := strings.Cut(rest, each); ok {
			repo, what, revision = before, each, after
		}
	}
	commit, ok := s.commit(w, repo, revision)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if what != "/tree/" {
		json.NewEncoder(w).Encode(map[string]any{"id": repo, "modelId": repo, "sha": commit, "siblings": []any{}, "private": false, "gated": s.Gated})
		return
	}
	s.mu.Lock()
	files := s.commits[commit]
	s.mu.Unlock()
	names := sorted(files)
	at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	end := min(len(names), at+s.Page)
	if end < len(names) {
		u := *r.URL
		u.RawQuery = "recursive=true&cursor=" + strconv.Itoa(end)
		w.Header().Set("Link", fmt.Sprintf(`<%s%s>; rel="next"`, s.Hub.URL, u.RequestURI()))
	}
	page := []map[string]any{}
	if at == 0 {
		page = append(page, map[string]any{"type": "directory", "oid": strings.Repeat("d", 40), "size": 0, "path": "speech_tokenizer"})
	}
	for _, name := range names[at:end] {
		content := files[name]
		e := map[string]any{"type": "file", "path": name, "size": len(content), "oid": GitDigest(content)}
		if len(content) >= s.Large {
			e["lfs"] = map[string]any{"oid": s.Digest(content), "size": len(content), "pointerSize": 130}
		}
		page = append(page, e)
	}
	json.NewEncoder(w).Encode(page)
}

// contents is the other host.
func (s *Server) contents(w http.ResponseWriter, r *http.Request) {
	commit, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	content, ok := s.commits[commit][path]
	s.mu.Unlock()
	if !ok || r.URL.Query().Get("signature") != "secret" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.Header().Set("Etag", `"`+s.Digest(content)+`"`)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
