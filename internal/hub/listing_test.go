package hub

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

var oid = strings.Repeat("a", 40)

// What a listing may hold is checked before anything of it is used.
func TestHostileListings(t *testing.T) {
	entry := func(path string) string { return fmt.Sprintf(`{"type":"file","path":%q,"size":1,"oid":%q}`, path, oid) }
	config := entry("config.json")
	big := strings.Repeat(`{"type":"file","path":"x","size":1},`, 300_000)
	for name, tc := range map[string]struct{ page, fails string }{
		"no JSON":            {`[`, "org/voice: the listing is no JSON of the wanted form"},
		"an object":          {`{"error":"x"}`, "the listing is no JSON of the wanted form"},
		"twice":              {"[" + config + "," + config + "]", `the listing has "config.json" twice`},
		"file and folder":    {"[" + entry("speech_tokenizer") + "," + entry("speech_tokenizer/config.json") + "]", `the listing has "speech_tokenizer" as a file and as a folder`},
		"negative size":      {`[{"type":"file","path":"config.json","size":-1}]`, `the listing gives "config.json" a size of -1 bytes`},
		"huge size":          {`[{"type":"file","path":"config.json","size":9000000000000000000}]`, "allowed are 0 to 1099511627776"},
		"size of text":       {`[{"type":"file","path":"config.json","size":"1"}]`, "no JSON of the wanted form"},
		"no digest":          {`[{"type":"file","path":"config.json","size":1}]`, "the listing has no digest of config.json"},
		"digest with a path": {`[{"type":"file","path":"config.json","size":1,"oid":"../../../../../../../etc/passwd"}]`, "the listing has no digest of config.json"},
		"short lfs digest":   {fmt.Sprintf(`[{"type":"file","path":"config.json","size":1,"oid":%q,"lfs":{"oid":%q,"size":1}}]`, oid, oid), "the listing has no digest of config.json"},
		"too large":          {"[" + strings.Repeat(" ", maxPage) + "]", "an answer has over 8 MiB, that is too much"},
		"nothing":            {`[]`, "has no config.json, so it is no checkpoint"},
		"null":               {`null`, "has no config.json, so it is no checkpoint"},
		"too many":           {"[" + big[:8<<20-10], "the listing is no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, checkpoint())
			r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
				if !strings.Contains(q.URL.Path, "/tree/") {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				w.Write([]byte(tc.page))
				return true
			})
			if _, err := r.pull(repo); err == nil || !strings.Contains(err.Error(), tc.fails) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %.300v, want %q", err, tc.fails)
			}
		})
	}
}

// A path of nothing but slashes is not looked at folder by folder.
func TestListingOfSlashes(t *testing.T) {
	files := []File{{Path: "config.json"}, {Path: strings.Repeat("/", 4<<20)}}
	for i := range 20 {
		files = append(files, File{Path: fmt.Sprintf("%d.json", i)})
	}
	ended := make(chan error, 1)
	go func() { ended <- checkListing(files) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it takes over 20 s")
	}
}

// A listing whose pages never end, or which leads elsewhere, ends.
func TestListingPages(t *testing.T) {
	for name, tc := range map[string]struct {
		link  func(r *rig) string
		fails string
	}{
		"for ever": {func(r *rig) string {
			return "<" + r.server.Hub.URL + "/api/models/org/voice/tree/x?cursor=1>; rel=\"next\""
		}, "over 500 pages"},
		"another host": {func(r *rig) string { return "<" + r.server.Contents.URL + "/x>; rel=next" }, "the listing goes on at another host"},
		"no address":   {func(r *rig) string { return "<file:///x>; rel=next" }, "the listing goes on at no address"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, checkpoint())
			r.settings.Token = "hf_secret"
			r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
				if !strings.Contains(q.URL.Path, "/tree/") {
					return false
				}
				w.Header().Set("Link", tc.link(r))
				w.Write([]byte(`[]`))
				return true
			})
			if _, err := r.pull(repo); err == nil || !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("error %v, want %q", err, tc.fails)
			}
			for _, q := range r.server.Asked() {
				if q.Host == r.server.Contents.Listener.Addr().String() {
					t.Error("another host was asked")
				}
			}
		})
	}
}

func TestHostileCommits(t *testing.T) {
	for body, want := range map[string]string{
		`{"sha":"../../x"}`:                     `org/voice: the hub names the commit "../../x", wanted 40 hexadecimal digits`,
		`{}`:                                    `org/voice: the hub names the commit "", wanted 40 hexadecimal digits`,
		`[]`:                                    "org/voice: what the hub says of it is no JSON of the wanted form",
		`{"sha":"` + oid + `","disabled":true}`: "org/voice: the hub has disabled it",
		`{"sha":"` + strings.Repeat("A", 40) + `","private":true}`: `wanted 40 hexadecimal digits`,
	} {
		r := newRig(t, checkpoint())
		r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool { w.Write([]byte(body)); return true })
		if _, err := r.pull(repo); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", body, err, want)
		}
	}
}

func TestCheckPath(t *testing.T) {
	for _, p := range []string{"config.json", "a/b/c.txt", "ü/日本.json", "a..b", ".gitattributes", "a b.json", "console.json"} {
		if err := checkPath(p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
	for _, p := range []string{
		"", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "./a", "a//b", "a/", `a\b`, `..\x`, "C:/x", "a\x00b", "a\nb", "\xff", "a:b", "CON", "a/nul.json",
		"com1.txt", "a.", "a ", "LPT9", strings.Repeat("x", 300), strings.Repeat("x/", 300) + "y", "a/b/c/d/e/f/g/h/i", "a\x7fb", "a|b", "a*b",
	} {
		if err := checkPath(p); err == nil {
			t.Errorf("%q was taken", p)
		}
	}
}

func TestSelection(t *testing.T) {
	for _, tc := range []struct {
		s     Selection
		takes string
		not   string
	}{
		{Selection{}, "config.json model.safetensors model-00001-of-00002.safetensors model.safetensors.index.json merges.txt speech_tokenizer/model.safetensors speech_tokenizer/config.json",
			"README.md modeling.py model.bin onnx/model.safetensors speech_tokenizer/x.pt training_args.bin speech_tokenizer/a/b.json original/x.json"},
		{Selection{Include: []string{"*"}}, "README.md onnx/model.safetensors a/b/c.wav", "x.py X.PY x.bin a/b.pt y.pickle z.so"},
		{Selection{Include: []string{"*.json"}, Exclude: []string{"a/*"}}, "config.json b/c.json", "a/c.json a/b/c.json x.txt"},
		{Selection{Include: []string{"a/"}}, "a/b a/b/c", "b a"},
		{Selection{Exclude: []string{"*.safetensors"}}, "config.json", "model.safetensors speech_tokenizer/model.safetensors"},
		// As Python's fnmatch reads sets.
		{Selection{Include: []string{"[!a]*"}}, "b bc README.md", "a ab a/b"},
		{Selection{Exclude: []string{"[!c]*.json"}}, "config.json model.safetensors", "vocab.json tokenizer.json"},
		{Selection{Include: []string{"[^a]*"}}, "a ab ^b", "b bc"},
		{Selection{Include: []string{"x[a!]y[!/]z"}}, "xayaz x!ybz", "xbyaz xay/z"},
		{Selection{Include: []string{"[[!]x[!a-c]"}}, "[xd !xd", "ax [xa !xb"},
	} {
		for p := range strings.FieldsSeq(tc.takes) {
			if !tc.s.takes(p) {
				t.Errorf("%v leaves out %s", tc.s, p)
			}
		}
		for p := range strings.FieldsSeq(tc.not) {
			if tc.s.takes(p) {
				t.Errorf("%v takes %s", tc.s, p)
			}
		}
	}
	if (Selection{Include: []string{"["}}).Check() == nil || (Selection{Exclude: []string{"[a"}}).Check() == nil || (Selection{Exclude: []string{"[!"}}).Check() == nil {
		t.Error("broken patterns were taken")
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "-3": 0, "x": 0, "99999999999999": 0,
		"Mon, 30 Nov 2026 01:01:30 GMT": 90 * time.Second, "Mon, 30 Nov 2026 00:00:00 GMT": 0,
	} {
		if got := retryAfter(in, now); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
	for failed := 1; failed < 100; failed++ {
		if d := backoff(failed); d < firstBackoff/2 || d > longestWait {
			t.Errorf("backoff of %d is %v", failed, d)
		}
	}
}

// FuzzListing: whatever a page holds, what is taken of it can be a file below a folder.
func FuzzListing(f *testing.F) {
	f.Add([]byte(`[{"type":"file","path":"config.json","size":1,"oid":"` + oid + `"},{"type":"directory","path":"x"}]`))
	f.Add([]byte(`[{"type":"file","path":"../x","size":1,"oid":"../y","lfs":{"oid":"sha256:z","size":5}}]`))
	f.Add([]byte(`[{"type":"file","path":"a/b","size":1e3},{"type":"file","path":"a","size":1}]`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := parsePage(data)
		if err != nil {
			return
		}
		_ = checkListing(files)
		for _, file := range files {
			if file.Size < 0 || file.Size > maxFileSize || file.Digest != "" && !digestPattern.MatchString(file.Digest) {
				t.Errorf("%+v", file)
			}
			if checkPath(file.Path) != nil {
				continue
			}
			if strings.Contains(file.Path, "..") && strings.Contains("/"+file.Path+"/", "/../") || strings.HasPrefix(file.Path, "/") || strings.ContainsAny(file.Path, "\\\x00") {
				t.Errorf("path %q", file.Path)
			}
		}
	})
}

// FuzzLink: where a listing goes on is at the same scheme, or nowhere.
func FuzzLink(f *testing.F) {
	f.Add(`<https://hub.example/api?cursor=1>; rel="next"`)
	f.Add(`<a>; rel=prev, </b>; rel=next`)
	from, _ := url.Parse("https://hub.example/api")
	f.Fuzz(func(t *testing.T, link string) {
		if u, err := nextPage(from, link); err == nil && u != nil && u.Scheme != "https" {
			t.Errorf("%q leads to %v", link, u)
		}
	})
}
